"""How the checker's weights are made: `python -m training make --size small --data DIR --run FOLDER`.

    training_data -> plan -> fit -> calibrate -> export

`recipes` has every choice of both sizes. `repc` and `augment` are commands of their own.
"""
