#!/bin/sh
: > "$0.was-started"
