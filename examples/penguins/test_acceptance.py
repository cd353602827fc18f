"""What the program must do, whoever wrote it: run it and look at what it wrote."""

import csv
import subprocess
import sys
from pathlib import Path

import solution


def run(measurements, decimals=1):
    command = [sys.executable, solution.__file__, "--measurements", str(measurements), "--decimals", str(decimals)]
    subprocess.run(command, check=True)
    with open("/var/outputs/summary", newline="") as file:
        summary = list(csv.reader(file))[1:]
    return summary, int(Path("/var/outputs/species").read_text())


def test_the_published_masses_come_out():
    summary, species = run("/var/inputs/measurements")
    assert summary == [["Adelie", "151", "3700.7"], ["Chinstrap", "68", "3733.1"], ["Gentoo", "123", "5076.0"]]
    assert species == 3


def test_birds_without_a_mass_are_left_out(tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text("species,body_mass_g\nGentoo,NA\nGentoo,5000\nAdelie,3701\nAdelie,3702\nAdelie,\n")
    summary, species = run(path, decimals=2)
    assert summary == [["Adelie", "2", "3701.50"], ["Gentoo", "1", "5000.00"]]
    assert species == 2
