#!/usr/bin/env python3
"""A link between two network namespaces that delays packets and loses some: where the kernel has no netem.

usage: lossy_link.py NAMESPACE_A ADDRESS_A NAMESPACE_B ADDRESS_B --delay-ms 5 --loss 0.05

Makes a TUN device in each namespace and carries packets between them until it is killed; prints "ready" when they are up.
"""
import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def device_in(namespace, address, name):
    """A descriptor of a TUN device that is up in the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as entry:
        if libc.setns(entry.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", name], check=True)
    subprocess.run(["ip", "link", "set", name, "up"], check=True)
    return device


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("namespace_a")
    parser.add_argument("address_a")
    parser.add_argument("namespace_b")
    parser.add_argument("address_b")
    parser.add_argument("--delay-ms", type=float, default=5)
    parser.add_argument("--loss", type=float, default=0.05)
    given = parser.parse_args()
    a = device_in(given.namespace_a, given.address_a, "lossy0")
    b = device_in(given.namespace_b, given.address_b, "lossy0")
    other = {a: b, b: a}
    draw = random.Random(1)
    underway, number = [], 0  # (when it arrives, order, device, packet)
    print("ready", flush=True)
    while True:
        wait = max(0.0, underway[0][0] - time.monotonic()) if underway else None
        for device in select.select([a, b], [], [], wait)[0]:
            packet = os.read(device, 65536)
            if draw.random() >= given.loss:
                number += 1
                heapq.heappush(underway, (time.monotonic() + given.delay_ms / 1e3, number, other[device], packet))
        while underway and underway[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(underway)
            try:
                os.write(device, packet)
            except OSError:
                pass  # the other end is down


if __name__ == "__main__":
    main()
