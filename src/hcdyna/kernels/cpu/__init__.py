"""Fused CPU versions of the climb and of planning, each behind the plain function's interface.

The C++ sources beside this file keep the networks of one agent in the fastest memory there is and
take the agents one after the other, so what an agent computes does not depend on its company.
"""
