#!/usr/bin/env bash
n=0
for file in $(find $1 -name '*.txt'); do
    cp $file $2
    n=$((n + 1))
done
echo $n
