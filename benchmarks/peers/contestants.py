# SPDX-License-Identifier: Apache-2.0
"""Who is measured: weft, floors, and other libraries; how each is built and started."""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
build = root / "build/peers"
limit_s = 120  # for a compilation


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    kind: str  # weft, floor or peer
    mode: str
    scenarios: tuple = ("pingpong", "rate", "bandwidth")
    program: str = ""
    source: str = ""
    compiler: str = "g++"
    libraries: tuple = ()
    packages: tuple = ()
    launcher: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    from_size: int = 0

    def command(self, weft_bench, scenario, size, seconds):
        if self.kind == "weft":
            options = ["--json", "--size", str(size), "--seconds", str(seconds), "--route", self.mode]
            return [str(weft_bench), scenario, *options]
        is_script = self.source.endswith(".py")
        program = [str(python()), str(here / self.source)] if is_script else [str(build / self.program)]
        return [*self.launcher, *program, self.mode, scenario, str(size), str(seconds)]


def weft(name, spin, mode="automatic", **more):
    # Spins as long as the ring that spins.
    environment = {"WEFT_SPIN": str(spin), "WEFT_DEVICE": "host"}
    return Contestant(name, "weft", mode, environment=environment, **more)


def floor(name, program, mode):
    return Contestant(name, "floor", mode, program=program, source=program + ".cpp")


def peer(name, program, mode, packages=(), source=None, **more):
    return Contestant(name, "peer", mode, program=program, source=source or program + ".cpp", packages=packages, **more)


with_objects = ("pingpong", "objects", "rate", "bandwidth")
as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
in_shared_memory = {"UCX_TLS": "posix,cma", "UCX_LOG_LEVEL": "error"}
by_shared_memory = ("--mca", "pml", "ob1", "--mca", "btl", "vader,self")
open_mpi = ("mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", "2", *by_shared_memory)
mpich = ("mpirun.mpich", "-bind-to", "none", "-np", "2")
ucx = {"packages": ("libucx-dev",), "libraries": ("-lucp", "-lucs"), "environment": in_shared_memory}
torch = {"source": "torch_gloo.py"}

all_contestants = [
    weft("weft blocking", 0, scenarios=with_objects),
    weft("weft spin", 20, scenarios=with_objects),
    weft("weft device", 0, "device", scenarios=("bandwidth",), from_size=1 << 20),
    weft("weft pair", 0, "pair", scenarios=("bandwidth",), from_size=1 << 20),
    floor("ring busy", "ring", "busy"),
    floor("ring spin", "ring", "spin20"),
    floor("ring sleep", "ring", "sleep"),
    floor("cross-memory attach", "cross_memory", "busy"),
    floor("Unix socket", "unix_socket", "epoll"),
    peer("Asio unix", "asio", "unix", ("libboost1.81-dev",)),
    peer("Asio tcp", "asio", "tcp", ("libboost1.81-dev",)),
    peer("Open MPI", "openmpi", "vader", ("libopenmpi-dev", "openmpi-bin"), "mpi.cpp", compiler="mpicxx.openmpi",
         launcher=open_mpi, environment=as_root),
    peer("MPICH", "mpich", "ucx", ("libmpich-dev", "mpich"), "mpi.cpp", compiler="mpicxx.mpich", launcher=mpich,
         environment={"UCX_LOG_LEVEL": "error"}),
    peer("UCX poll", "ucx", "poll", **ucx),
    peer("UCX armed", "ucx", "armed", **ucx),
    peer("ZeroMQ", "zeromq", "ipc", ("libzmq3-dev",), libraries=("-lzmq",)),
    peer("nng", "nng", "ipc", ("libnng-dev",), libraries=("-lnng",)),
    peer("Gloo", "gloo", "tcp", ("libgloo-dev",), libraries=("-lgloo",)),
    peer("torch tensor", "torch", "tensor", **torch),
    peer("torch objects", "torch", "object_list", scenarios=("objects",), **torch),
]


@functools.cache
def python():
    """The first that has torch: that of tools/bench-compare --install, this one, Debian's; else the last of them."""
    candidates = [build / "python/bin/python", sys.executable, "/usr/bin/python3"]
    for candidate in candidates:
        if shutil.which(candidate) and has_torch(candidate).returncode == 0:
            return candidate
    return candidates[-1]


def has_torch(interpreter):
    return subprocess.run([interpreter, "-c", "import numpy, torch.distributed"], capture_output=True, text=True)


def install(contestants):
    packages = sorted({package for each in contestants for package in each.packages})
    if packages:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *packages], check=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if any(each.program == "torch" for each in contestants) and not (build / "python/bin/python").exists():
        install_torch()


def install_torch():
    """A wheel without CUDA where there is one to be had, else the large one, else what Debian has (1.13)."""
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", build / "python"], check=True)
    pip = [build / "python/bin/pip", "install", "--retries", "0", "numpy", "torch"]
    for index in (["--index-url", "https://download.pytorch.org/whl/cpu"], []):
        if subprocess.run([*pip, *index]).returncode == 0:
            return
    shutil.rmtree(build / "python")
    subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", "python3-torch", "python3-numpy"])


def why_not_built(contestant):
    """Builds it; why that cannot be, or None."""
    if contestant.kind == "weft":
        return None
    if contestant.source.endswith(".py"):
        probe = has_torch(python())
        return None if probe.returncode == 0 else f"{last_line(probe.stderr)} (--install installs it)"
    for needed in (contestant.compiler, *contestant.launcher[:1]):
        if shutil.which(needed) is None:
            return missing(f"there is no {needed}", contestant)
    return why_not_compiled(contestant)


def why_not_compiled(contestant):
    program, source = build / contestant.program, here / contestant.source
    newest = max(path.stat().st_mtime for path in [source, *here.glob("*.hpp")])
    if program.exists() and program.stat().st_mtime > newest:
        return None
    build.mkdir(parents=True, exist_ok=True)
    options = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-o", program, source, *contestant.libraries]
    done = subprocess.run([contestant.compiler, *options], capture_output=True, text=True, timeout=limit_s)
    if done.returncode == 0:
        return None
    problem = re.search(r"(?:error|ld): (.*)", done.stderr)
    return missing(problem[1] if problem else last_line(done.stderr), contestant)


def missing(problem, contestant):
    return f"{problem} (packages: {' '.join(contestant.packages) or 'none'}; --install installs them)"


def last_line(text):
    return (text.strip().splitlines() or ["it fails without a word"])[-1]
