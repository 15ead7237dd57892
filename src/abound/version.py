"""The version of the installed package, and the build of its kernels."""

from importlib.metadata import version

__version__ = version("abound")


def kernel_build() -> str:
    """Describe the build of the kernels in one line: a digest of their sources, the compiler and its checks."""
    from abound.kernels import BOUNDS_CHECKED

    bounds = "array bounds checked" if BOUNDS_CHECKED else "array bounds not checked"
    try:
        from abound.kernels.build_record import COMPILER, SANITIZERS, SOURCES
    except ImportError:
        return f"kernels: {bounds}, built without a record of the build"
    checks = f"sanitizers {SANITIZERS}" if SANITIZERS else "no sanitizers"
    return f"kernels {SOURCES}: {COMPILER}, {bounds}, {checks}"
