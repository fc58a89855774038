"""Options for compiling kernels: cached on disk, and without the GIL.

Threads can so share the work. `INNER` is for functions that only compiled code calls: without the entry points for
Python, which unpack every array of every argument, they compile faster. Python must not call them: there is nothing to
call, and the process would crash. `FROM_PYTHON` is for all others.
"""

FROM_PYTHON = {"cache": True, "nogil": True}
INNER = {**FROM_PYTHON, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
