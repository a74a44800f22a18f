"""What someone wants to know, in one YAML file: read strictly, merged, resolved against the catalog, then frozen.

``schema`` says what may be written, ``workload`` how long requests are, ``merge`` how ``extends``, overrides and
``--set`` combine, ``read`` does it all and lists every problem.
"""
