#!/bin/sh
# In the place of an interpreter: writes down the environment that it was started with, and says that all went well.
env > '{marker}' 2>/dev/null
echo '{"phases": [], "seconds": 4711.0}'
