"""`tessera top --web` on the software device: which requests get the page, and that a real browser shows it change.

Usage: live_web_test.py BUILD_FOLDER
"""

import http.client
import json
import socket
import subprocess
import unittest
import urllib.parse

from browser import BROWSER, Browser
from watched_programs import TESSERA, Watched


class Web(Watched):
    def serve(self, *words):
        server = subprocess.Popen([TESSERA, "top", "--web", *words], env=self.environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        server.address = server.stdout.readline().strip()
        server.url = urllib.parse.urlsplit(server.address)
        return server

    def ask(self, server, target, method="GET", **headers):
        connection = http.client.HTTPConnection(server.url.hostname, server.url.port, timeout=120)
        self.addCleanup(connection.close)
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class Access(Web):
    def test_the_printed_address_is_the_page(self):
        program = self.start()
        server = self.serve()
        self.assertRegex(server.address, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{48}$")
        status, page = self.ask(server, f"/?{server.url.query}")
        self.assertEqual(status, 200)
        self.assertIn("<title>Tessera: ", page)
        token = server.url.query.removeprefix("token=")
        status, view = self.ask(server, "/view", Authorization=f"Bearer {token}")
        while f'data-pid="{program.pid}"' not in view:
            status, view = self.ask(server, "/view", Authorization=f"Bearer {token}")
        self.assertEqual(status, 200)
        self.assertIn(f"<td>{program.pid}</td>", view)

    def test_each_server_has_its_own_token(self):
        self.assertNotEqual(self.serve().url.query, self.serve().url.query)

    def test_without_the_token_or_by_another_name_there_is_nothing(self):
        server = self.serve("127.0.0.1:0", "--interval", "0.5")
        page = f"/?{server.url.query}"
        wrong = page[:-1] + ("0" if page[-1] != "0" else "1")
        for expected, target, headers in ((401, "/", {}), (401, wrong, {}), (401, "/view", {}), (401, "/other", {}),
                                          (401, "/view", {"Authorization": "Bearer guessed"}),
                                          (403, page, {"Host": "evil.example"}),
                                          (403, page, {"Host": f"evil.example:{server.url.port}"}),
                                          (404, f"/other?{server.url.query}", {})):
            status, text = self.ask(server, target, **headers)
            self.assertEqual(status, expected, (target, headers))
            self.assertNotIn("html", text)
        self.assertEqual(self.ask(server, page, "POST")[0], 405)
        self.assertEqual(self.ask(server, page)[0], 200)

    def test_idle_and_endless_clients_do_not_keep_others_away(self):
        server = self.serve()
        place = (server.url.hostname, server.url.port)
        idle = [socket.create_connection(place) for _ in range(64)]
        for client in idle:
            self.addCleanup(client.close)
        endless = socket.create_connection(place)
        self.addCleanup(endless.close)
        with self.assertRaises(OSError):
            for _ in range(1 << 20):
                endless.sendall(b"GET / HTTP/1.1\r\n" + b"x" * 4096)
        self.assertEqual(self.ask(server, f"/?{server.url.query}")[0], 200)

    def test_other_machines_reach_it_by_choice_only(self):
        refused = self.tessera("top", "--web", "0.0.0.0:0")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertRegex(refused.stderr, r"^tessera: --web: [^\n]*not a loopback address[^\n]*--allow-remote[^\n]*\n$")
        server = self.serve("0.0.0.0:0", "--allow-remote")
        self.assertEqual(server.url.hostname, socket.gethostname().lower())
        connection = http.client.HTTPConnection("127.0.0.1", server.url.port, timeout=120)
        self.addCleanup(connection.close)
        for expected, host in ((200, server.url.netloc), (200, "192.0.2.1"), (403, "evil.example")):
            connection.request("GET", f"/?{server.url.query}", headers={"Host": host})
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, expected, host)

    def test_what_cannot_be_is_one_line_and_exit_code_two(self):
        for words in (("--web", "nowhere"), ("--web", "--once"), ("--web", "--json"), ("--allow-remote",)):
            result = self.tessera("top", *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertRegex(result.stderr, r"^tessera: [^\n]+\n$")


@unittest.skipUnless(BROWSER, "there is no Chromium here: apt-get install chromium-headless-shell")
class InABrowser(Web):
    def line_when(self, browser, pid, pattern):
        """The program's line of the table, once it matches."""
        rows = "[...document.querySelectorAll('tr')].map(row => row.innerText)"
        return browser.when(f"{rows}.find(text => new RegExp({json.dumps(f'^{pid}.*{pattern}')}).test(text))")

    def test_the_page_follows_the_program(self):
        program = self.start()
        server = self.serve("--interval", "0.5")
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(server.address)
        section = f"document.querySelector('section[data-pid=\"{program.pid}\"]')"
        self.line_when(browser, program.pid, r"16\.0 MiB / 64\.0 MiB")
        plots = f"[...{section}.querySelectorAll('svg')].map(plot => plot.getAttribute('aria-label')).join()"
        browser.when(f"{section} && {plots}.includes('in device memory')")
        self.assertNotIn("in host memory", browser.value_of(plots))
        # The page itself does not change: only its part is asked for.
        browser.value_of("window.first = document.querySelector('h1')")
        self.assertEqual(self.tessera("sleep", program.pid).returncode, 0)
        self.line_when(browser, program.pid, r"asleep.*\b0 B / 64\.0 MiB")
        browser.when(f"{plots}.includes('in host memory') && {plots}.includes('between host and device memory')")
        # Drawn, not only present: the area of the host's plot has a height.
        browser.when(f"[...{section}.querySelectorAll('svg[aria-label=\"in host memory\"] polygon')]"
                     ".some(area => area.getBoundingClientRect().height > 5)")
        self.assertTrue(browser.value_of("window.first === document.querySelector('h1')"))
        program.communicate("go on\n", timeout=60)
        browser.when(f"!{section}")
        origin = f"http://{server.url.netloc}/"
        self.assertEqual([url for url in browser.requests if not url.startswith(origin)], [])
        # It has changed twice at least: asleep, and gone. How often it is asked for in between depends on the machine.
        self.assertGreaterEqual(sum(url.startswith(origin + "view") for url in browser.requests), 2)
        self.assertEqual([fault for fault in browser.faults if "favicon" not in fault], [])

    def test_it_says_that_its_server_is_gone(self):
        server = self.serve("--interval", "0.5")
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(server.address)
        browser.when("document.readyState === 'complete' && document.querySelector('#state').textContent === 'live'")
        server.kill()
        browser.when("document.querySelector('#state').textContent.includes('Does tessera top still run?')")


if __name__ == "__main__":
    unittest.main()
