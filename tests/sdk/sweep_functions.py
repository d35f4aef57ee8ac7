"""Functions that the tests run as jobs."""

import os
import signal
import time


class OddError(Exception):
    pass


class StubbornError(Exception):
    def __init__(self, one, two):
        super().__init__("stubborn")
        self.both = one, two


class Point:
    def __init__(self, x):
        self.x = x

    def shifted(self):
        return self.x + 1


def add(a, b=0):
    return a + b


async def add_async(a, b):
    return a + b


def square(number):
    return number * number


def one_over(number):
    print("dividing by", number)
    return 1 / number


def trouble(word):
    if word == "bad":
        raise OddError(word)
    if word == "dead":
        os.kill(os.getpid(), signal.SIGKILL)
    return word


def stubborn(number):
    raise StubbornError(number, number)


def sleep(seconds):
    time.sleep(seconds)
