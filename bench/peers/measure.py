"""Runs one layer of one library on one cell, in a process of its own.

It answers in lines of JSON on standard output. The first says that it is ready, and how far its results are from
Hector's. Then it gives times for each line `run N SECONDS` that it reads, until its input ends: N runs at most, of which
only the first may start after that many seconds. A step that was not counted comes first, unless steps take longer than
that. With --memory it measures memory instead of time. On a GPU times are those by the clock, until the GPU has finished,
and those of the GPU itself; memory is measured as well, in the steps that come first.
"""

import argparse
import ctypes
import importlib
import json
import os
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")

# Seconds after which a step is not repeated to measure memory.
LONG_STEP = 60
MODULES = {"pyg": "pyg_layers", "dgl": "dgl_layers", "torch": "torch_layers"}


def answer(**fields):
    print(json.dumps(fields), flush=True)


def status_bytes(key):
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


def versions(library, torch):
    found = {"torch": torch.__version__}
    if library == "pyg":
        found["torch_geometric"] = importlib.import_module("torch_geometric").__version__
    if library == "dgl":
        found["dgl"] = importlib.import_module("dgl").__version__
    return found


class Cell:
    """A layer that is ready to run."""

    def __init__(self, case, forward, device):
        self.device = device
        self.case = case
        self.forward = forward
        self.leaves = getattr(forward, "leaves", None) or list(case.inputs.values())

    def step(self):
        import torch

        if not self.case.training:
            with torch.inference_mode():
                return self.forward()
        for leaf in self.leaves:
            leaf.grad = None
        out = self.forward()
        out.backward(self.case.grad_out)
        return out.detach()

    def timed_step(self):
        """The seconds of a step by the clock, and the milliseconds of a GPU."""
        import torch

        if self.device == "cpu":
            start = time.perf_counter()
            self.step()
            return time.perf_counter() - start, None
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start = time.perf_counter()
        begin.record()
        self.step()
        end.record()
        torch.cuda.synchronize()
        return time.perf_counter() - start, begin.elapsed_time(end)

    def gradients(self):
        found = getattr(self.forward, "gradients", None)
        return found() if found else {name: tensor.grad for name, tensor in self.case.inputs.items()}


def largest_error(cell, out, expected, tied):
    """The largest difference from Hector's results, of any of them, relative to its largest number."""
    import torch

    actual = {"out": out}
    if cell.case.training:
        actual |= {"grad." + name: grad for name, grad in cell.gradients().items()}
    worst, where = 0.0, ""
    for name, wanted in expected.items():
        wanted = torch.from_numpy(wanted).double()
        if name.removeprefix("grad.") in tied:
            wanted = wanted.sum(0)  # one vector for all relations
        if actual.get(name) is None:
            return float("inf"), name
        difference = (actual[name].cpu().double().view(wanted.shape) - wanted).abs().max().item()
        largest = wanted.abs().max().item()
        error = difference / largest if largest > 0 else difference
        if not error <= worst:
            worst, where = error, name
    return worst, where


def prepare(options):
    import torch

    torch.set_num_threads(options.threads)
    module = importlib.import_module(MODULES[options.library])
    if options.device == "cpu":  # a GPU's driver reserves more addresses than any limit allows
        # What libraries map before they compute anything is not counted.
        limit = status_bytes("VmSize") + options.limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    from case import Case

    case = Case(options.case, options.phase == "training", options.device)

    def make(case):
        with torch.device(options.device):
            return module.LAYERS[options.model][options.layer](case)

    return torch, module, case, make


def release(cell):
    """Gives memory back while others take their turn."""
    for leaf in cell.leaves:
        leaf.grad = None
    ctypes.CDLL(None).malloc_trim(0)


def warm_up(torch):
    """Starts threads and loads what common operations and their gradients need, so that it does not count as memory."""
    x, index = torch.ones(64, 64, requires_grad=True), torch.arange(64)
    y = torch.zeros(64, 64).index_add(0, index, (x @ x).index_select(0, index))
    y.backward(torch.ones(64, 64))  # the first gradient that is given loads modules of Python


def measure_memory(options):
    torch, _, case, make = prepare(options)
    warm_up(torch)
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status_bytes("VmRSS")
    cell = Cell(case, make(case), options.device)
    begin = time.perf_counter()
    cell.step()
    if time.perf_counter() - begin < LONG_STEP:
        cell.step()  # now with the gradients of the first step in memory
    answer(memory_bytes=max(0, status_bytes("VmHWM") - before))


def measure_time(options):
    torch, module, case, make = prepare(options)
    cell = Cell(case, make(case), options.device)
    on_gpu = options.device != "cpu"
    begin = time.perf_counter()
    out = cell.step()
    if on_gpu:
        torch.cuda.synchronize()
    fastest = time.perf_counter() - begin  # of all steps so far; the first also sets things up
    other = getattr(module, "OTHER_FUNCTION", {}).get(options.layer)
    error, worst = None, None
    if not other:
        from case import read_safetensors

        tied = getattr(module, "TIED", {}).get(options.layer, ())
        error, worst = largest_error(cell, out, read_safetensors(options.expected)[0], tied)
    more = {}
    if on_gpu:
        del out
        # Compilers and libraries take memory in the first step that no other takes.
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        cell.step()
        torch.cuda.synchronize()
        more = {"memory_bytes": torch.cuda.max_memory_allocated(), "device": torch.cuda.get_device_name()}
    answer(ready=True, error=error, worst=worst, other_function=other, versions=versions(options.library, torch), **more)
    out = None
    release(cell)
    for line in sys.stdin:
        runs, seconds = int(line.split()[1]), float(line.split()[2])
        if fastest < seconds:
            # Takes the memory back that was given up between turns.
            fastest = min(fastest, cell.timed_step()[0])
        times, device_times, begin = [], [], time.perf_counter()
        while len(times) < runs and (not times or time.perf_counter() - begin < seconds):
            seconds_taken, device_ms = cell.timed_step()
            times.append(seconds_taken * 1e3)
            if device_ms is not None:
                device_times.append(device_ms)
        fastest = min(fastest, *(ms / 1e3 for ms in times))
        release(cell)
        answer(ms=times, device_ms=device_times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, choices=MODULES)
    parser.add_argument("--model", required=True)
    parser.add_argument("--layer", required=True)
    parser.add_argument("--phase", required=True, choices=("inference", "training"))
    parser.add_argument("--case", required=True)
    parser.add_argument("--expected")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, default=20 << 30, help="bytes of address space beyond the libraries")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        measure_memory(options) if options.memory else measure_time(options)
    except MemoryError:
        answer(failure="out of memory")
    except NotImplementedError as error:
        answer(failure=str(error))
    except RuntimeError as error:
        text = str(error)
        signs = ("allocate memory", "bad_alloc", "not enough memory", "out of memory")
        is_memory = any(sign in text for sign in signs)
        answer(failure="out of memory" if is_memory else text.splitlines()[0])


if __name__ == "__main__":
    main()
