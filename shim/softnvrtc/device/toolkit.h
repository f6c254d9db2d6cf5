// Stands for the headers of the toolkit that say what a source finds anyway: their own text is for NVIDIA's
// compiler, and would say it a second time.
//
// Thread safety: empty.
#pragma once
