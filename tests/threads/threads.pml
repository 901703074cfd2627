/* The threads of engine/threads.cpp as a model, which spin looks at in every order that two helpers and the caller can
   run in: every piece runs once and belongs to its own loop, and nobody waits for ever. ThreadSanitizer sees races in
   the orders that happen to occur; a wake-up that is missed is no race, and only an order of its own shows it.

     spin -run threads.pml           loops whose pieces are taken by whoever is free
     spin -DTEAM -run threads.pml    loops with a piece for every thread, which wait for each other, as oneDNN's

   Names are those of threads.cpp. What it does to one variable is one step here. A wait compares and falls asleep in one
   step, as the system's futex does. */
#define HELPERS 2
#define LOOPS   2
#define PIECES(loop) (loop + 1) /* another number each time; of a team never more than threads */
#define MOST    3
#define CLOSED  15
#define NEXT    2 /* kNext */
#define END     1 /* kEnd */

byte number, sleeping, piece_loop, pieces, unfinished;
byte ticket_loop, ticket_next; /* one word of 64 bits: only ever changed together */
bool in_number[HELPERS], in_unfinished; /* asleep there */
byte runs[(LOOPS + 1) * MOST];
byte arrived[LOOPS + 1]; /* of a team's pieces */
byte ended;

inline wait_number(self, old) {
  do
  :: atomic { number != old -> break }
  :: atomic { number == old -> in_number[self] = true };
     !in_number[self]
  od
}

inline notify_all_number() { d_step { in_number[0] = false; in_number[1] = false } }

inline notify_one_number() {
  atomic {
    if
    :: in_number[0] -> in_number[0] = false
    :: in_number[1] -> in_number[1] = false
    :: !in_number[0] && !in_number[1] -> skip
    fi
  }
}

inline do_piece(of_loop, next, mine) {
  assert(mine == of_loop);
  runs[of_loop * MOST + next]++;
  assert(runs[of_loop * MOST + next] == 1);
#ifdef TEAM
  arrived[of_loop]++;
  arrived[of_loop] == PIECES(of_loop); /* a barrier */
#endif
  d_step { unfinished--; last = (unfinished == 0) };
  if
  :: last -> in_unfinished = false
  :: else
  fi
}

inline take_pieces() {
  d_step { of_loop = ticket_loop; next = ticket_next };
  do
  :: true ->
     mine = piece_loop;
     if
     :: next >= pieces -> break
     :: else
     fi;
     d_step {
       if
       :: ticket_loop == of_loop && ticket_next == next -> ticket_next++; taken = true
       :: else -> of_loop = ticket_loop; next = ticket_next; taken = false
       fi
     };
     if
     :: taken ->
        do_piece(of_loop, next, mine);
        d_step { of_loop = ticket_loop; next = ticket_next }
     :: else
     fi
  od
}

proctype helper(byte self) {
  byte seen, of_loop, next, mine;
  bool taken, last;
  do
  :: true ->
     if
     :: number != seen /* seen while spinning */
     :: true -> sleeping++; wait_number(self, seen); sleeping--
     fi;
     seen = number;
     if
     :: seen & END -> break
     :: else
     fi;
     take_pieces()
  od;
  ended++
}

init {
  byte of_loop, next, mine, loop, count, asleep, left;
  bool taken, last;
  atomic { run helper(0); run helper(1) };
  for (loop : 1 .. LOOPS) {
    d_step { ticket_loop = 0; ticket_next = CLOSED };
    piece_loop = loop;
    pieces = PIECES(loop);
    unfinished = PIECES(loop);
    d_step { ticket_loop = loop; ticket_next = 0 };
    number = number + NEXT;
    asleep = sleeping;
    if
    :: asleep <= PIECES(loop) - 1 && asleep > 0 -> notify_all_number()
    :: asleep > PIECES(loop) - 1 -> for (count : 1 .. PIECES(loop) - 1) { notify_one_number() }
    :: else
    fi;
    take_pieces();
    do
    :: left = unfinished;
       if
       :: left == 0 -> break
       :: else
       fi;
       d_step {
         if
         :: unfinished == left -> in_unfinished = true
         :: else
         fi
       };
       !in_unfinished
    od;
    for (count : 0 .. PIECES(loop) - 1) { assert(runs[loop * MOST + count] == 1) }
  }
  number = number | END;
  notify_all_number();
  ended == HELPERS
}
