"""Cut a part out of an ONNX model, with no package but the standard library.

An ONNX file is a protobuf message. The nodes and weights of the part are copied byte for byte, so its arithmetic is
the model's; only the declaration of what goes in and out is written anew, with free lengths where the model had fixed
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from voxaudit.errors import VoxauditError

# Field numbers of onnx.proto: ModelProto, GraphProto, NodeProto, TensorProto, ValueInfoProto and what it holds.
_IR_VERSION, _GRAPH, _OPSETS = 1, 7, 8
_NODE, _GRAPH_NAME, _INITIALIZER, _INPUT, _OUTPUT = 1, 2, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_TENSOR_NAME = 8
_FLOAT = 1

Shape = Sequence[int | str]
"""Lengths of the dimensions; a name stands for a length that is free."""


def cut(model: bytes, inputs: Mapping[str, Shape], output: str, shape: Shape) -> bytes:
    """Return the model that computes the value `output` (float, of `shape`) from the float values `inputs`."""
    fields = list(_read(model))
    graph = [field for number, field in fields if number == _GRAPH]
    if len(graph) != 1 or not isinstance(graph[0], bytes):
        raise VoxauditError("not an ONNX model: it has no graph")
    parts = [(number, field) for number, field in _read(graph[0]) if isinstance(field, bytes)]
    weights = {_text(field, _TENSOR_NAME)[0]: field for number, field in parts if number == _INITIALIZER}
    needed, nodes = {output}, []
    for node in reversed([field for number, field in parts if number == _NODE]):
        made = set(_text(node, _NODE_OUTPUT))
        if needed & made:
            nodes.append(node)
            needed = (needed - made) | (set(_text(node, _NODE_INPUT)) - set(inputs))
    if lost := sorted(needed - set(weights)):
        raise VoxauditError(f"this ONNX model is not the one expected: nothing in it makes '{lost[0]}'")
    part = b"".join(
        [
            *(_write(_NODE, node) for node in reversed(nodes)),
            _write(_GRAPH_NAME, b"part"),
            *(_write(_INITIALIZER, tensor) for name, tensor in weights.items() if name in needed),
            *(_write(_INPUT, _declare(name, lengths)) for name, lengths in inputs.items()),
            _write(_OUTPUT, _declare(output, shape)),
        ]
    )
    header = [_write(number, field) for number, field in fields if number in (_IR_VERSION, _OPSETS)]
    return b"".join([*header, _write(_GRAPH, part)])


def _declare(name: str, shape: Shape) -> bytes:
    """Return the ValueInfoProto of a float tensor."""
    lengths = (_write(1, n) if isinstance(n, int) else _write(2, n.encode()) for n in shape)
    dimensions = b"".join(_write(1, length) for length in lengths)
    return _write(1, name.encode()) + _write(2, _write(1, _write(1, _FLOAT) + _write(2, dimensions)))


def _text(message: bytes, number: int) -> list[str]:
    return [field.decode() for n, field in _read(message) if n == number and isinstance(field, bytes)]


def _read(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protobuf message: numbers as int, everything else as bytes."""
    position = 0
    try:
        while position < len(message):
            tag, position = _number(message, position)
            kind = tag & 7
            if kind == 0:
                value, position = _number(message, position)
                yield tag >> 3, value
                continue
            if kind == 2:
                size, position = _number(message, position)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError
            if position + size > len(message):
                raise ValueError
            yield tag >> 3, message[position : position + size]
            position += size
    except (IndexError, ValueError):
        raise VoxauditError("not an ONNX model: the file is damaged") from None


def _number(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _write(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _bits(number << 3) + _bits(value)
    return _bits(number << 3 | 2) + _bits(len(value)) + value


def _bits(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)
