"""The command `tenon`: the program of the package. Apart from it, so that starting it imports nothing else."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tenon", "bin", "tenon")
    os.execv(program, ["tenon", *sys.argv[1:]])
