"""Classify the lines of standard input with the engine as WebAssembly, outside of browsers: any runtime does it like this one.

`pip install wasmtime`, then `python classify.py engine.wasm classifier-int8.retvec < texts.txt`. The module, which is in the npm package, imports
nothing. It exports its memory and the functions of retvec_lite.h, whose pointers are 32-bit integers.
"""

import struct
import sys

from wasmtime import Instance, Module, Store

PAGE, WORDS, LONGEST = 65_536, 384, 1 << 20

store = Store()
exports = Instance(store, Module.from_file(store.engine, sys.argv[1]), []).exports(store)
memory = exports["memory"]


def call(name: str, *arguments: int) -> int:
    """Call a function of the engine."""
    return exports[name](store, *arguments)


def take(size: int) -> int:
    """Return where so many bytes are free: in new pages."""
    return memory.grow(store, -(-size // PAGE)) * PAGE


def string(start: int) -> str:
    """Return the string at an address, which ends in a zero."""
    return bytes(memory.read(store, start, memory.data_len(store))).partition(b"\0")[0].decode()


with open(sys.argv[2], "rb") as source:
    content = source.read()
file, result, given = take(len(content)), take(8), take(LONGEST)
memory.write(store, content, file)
problem = call("rvl_block_size", file, len(content), WORDS, result)
if not problem:
    (size,) = struct.unpack("<I", memory.read(store, result, result + 4))
    problem = call("rvl_open", file, len(content), WORDS, take(size), size, result)
if problem:
    sys.exit(string(call("rvl_message", problem)))
(engine,) = struct.unpack("<I", memory.read(store, result, result + 4))

for line in sys.stdin:
    text = line.rstrip("\n").encode()[:LONGEST]
    memory.write(store, text, given)
    memory.write(store, struct.pack("<if", -1, 0.0), result)  # where a text may have several labels, it may have none
    call("rvl_classify_utf8", engine, given, len(text), result, 1)
    label, probability = struct.unpack("<if", memory.read(store, result, result + 8))
    print("-" if label < 0 else string(call("rvl_label", engine, label)), f"{probability:.6f}")
