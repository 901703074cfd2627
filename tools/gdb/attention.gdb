# Steps to the attention of one query: stops in attention_row for sequence 0, head 0, query 5 and shows its stages.
#   cmake --preset debug && cmake --build --preset debug --target train_learned
#   gdb -q -x tools/gdb/attention.gdb --args build/debug/train_learned --reference --task bigram-backcopy \
#       --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 1 --steps 1 --threads 1 --run runs/gdb --force
set breakpoint pending on
set print thread-events off
set pagination off
break attention_row if b == 0 && h == 0 && i == 5
run
backtrace 4
finish
