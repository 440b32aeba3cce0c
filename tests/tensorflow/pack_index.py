#!/usr/bin/env python3
"""Writes a checkpoint's index again with its blocks compressed by Snappy, as TensorFlow may be
built to write them: pack_index.py variables.index packed.index. Copies are found by a plain search,
so all kinds of tags appear. Needs nothing but Python."""

import struct
import sys

MAGIC = bytes.fromhex("57fb808b247547db")


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return n, at


def crc32c(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def literal(data):
    if not data:
        return b""
    n = len(data) - 1
    return (bytes([n << 2]) if n < 60 else bytes([61 << 2]) + struct.pack("<H", n)) + data


def snappy(data):
    out, at, start = bytearray(varint(len(data))), 0, 0
    while at < len(data):
        n = min(60, len(data) - at)
        while n >= 4 and (back := data.rfind(data[at : at + n], 0, at + n - 1)) < 0:
            n -= 1
        if n < 4:
            at += 1
            continue
        out += literal(data[start:at])
        offset = at - back
        if n < 12 and offset < 2048:
            out += bytes([1 | n - 4 << 2 | offset >> 8 << 5, offset & 255])
        elif n % 2:
            out += bytes([2 | n - 1 << 2]) + struct.pack("<H", offset)
        else:
            out += bytes([3 | n - 1 << 2]) + struct.pack("<I", offset)
        at = start = at + n
    return bytes(out + literal(data[start:]))


def main():
    data = open(sys.argv[1], "rb").read()
    out = bytearray()

    def block(offset, size):
        return data[offset : offset + size]

    def put(plain):
        packed = snappy(plain) + b"\1"
        crc = crc32c(packed)
        handle = varint(len(out)) + varint(len(packed) - 1)
        out.extend(packed + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF))
        return handle

    offset, at = read_varint(data, len(data) - 48)
    size, at = read_varint(data, at)
    meta = put(block(offset, size))
    offset, at = read_varint(data, at)
    index = block(offset, read_varint(data, at)[0])
    _, at = read_varint(index, 0)  # of the only block: what its key shares, its size, the value's
    n_key, at = read_varint(index, at)
    _, at = read_varint(index, at)
    key, at = index[at : at + n_key], at + n_key
    offset, at = read_varint(index, at)
    handle = put(block(offset, read_varint(index, at)[0]))
    entry = b"\0" + varint(len(key)) + varint(len(handle)) + key + handle
    top = put(entry + struct.pack("<II", 0, 1))
    open(sys.argv[2], "wb").write(out + (meta + top).ljust(40, b"\0") + MAGIC)


main()
