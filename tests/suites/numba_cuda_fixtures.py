"""The fixture that numba-cuda's tests ask for, which its wheel does not bring."""

import pytest


@pytest.fixture
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False  # its checks of compiled code leave no files
