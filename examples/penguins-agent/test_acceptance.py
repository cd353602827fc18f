"""What the program must do, whoever wrote it: run it and look at what it wrote."""


def run(program, measurements, decimals=1):
    result = program({"measurements": measurements, "decimals": decimals})
    assert result.exit_code == 0, result.stderr
    return [list(row.values()) for row in result.rows("summary")], int(result.text("species"))


def test_the_published_masses_come_out(program):
    summary, species = run(program, "/var/inputs/measurements")
    assert summary == [["Adelie", "151", "3700.7"], ["Chinstrap", "68", "3733.1"], ["Gentoo", "123", "5076.0"]]
    assert species == 3


def test_birds_without_a_mass_are_left_out(program, tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text("species,body_mass_g\nGentoo,NA\nGentoo,5000\nAdelie,3701\nAdelie,3702\nAdelie,\n")
    summary, species = run(program, path, decimals=2)
    assert summary == [["Adelie", "2", "3701.50"], ["Gentoo", "1", "5000.00"]]
    assert species == 2
