"""Built-in functions of CPython that run kernels for one state in a microsecond."""
