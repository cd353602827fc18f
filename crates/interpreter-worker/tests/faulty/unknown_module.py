# line: 2
import random
random.random()
