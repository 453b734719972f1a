"""How fast is it here? What `hcdyna bench` and the scripts in `benchmarks/` measure with.

ours.py      a program of ours, compiled, warmed up and ready to be timed
cases.py     what one measurement is of, and the measurement
counts.py    multiply-adds of an environment step, and the most that the device does
versus.py    ours and peers in turn;  peers.py, torch_loop.py, peer_world.py: the peers
suite.py     all measurements of a run, as a record;  show.py: that record as tables and figure
"""
