#!/usr/bin/perl
# Turns the data files of a Debian text package into plain UTF-8: documents, each followed by a line <|endoftext|>.
#
#   extract.pl dict  FILE.dict.dz     dictionaries for dictd: gzip, entries start at column 0
#   extract.pl sword FOLDER           modules of the SWORD project: zlib blocks with a verse index, OSIS markup
#   extract.pl rdata FILE.rdb         data of an R package: zlib blobs of serialised character vectors
#   extract.pl files:ENDING FOLDER    text files below FOLDER with this ending, gzip or not, one document each
#   extract.pl html FOLDER            the same for .html, without markup
#   extract.pl arithmetic COUNT       that many generated questions with answers
#
# Or into conversations of one to three questions with answers, one JSON object per line for `prepare --chat`
# (tools/corpus/make_chat.sh):
#
#   extract.pl chat:dict FILE.dict.dz   what is an entry? its first paragraphs
#   extract.pl chat:arithmetic COUNT
#
# Needs core Perl only.
use strict;
use warnings;
use Compress::Zlib ();
use Encode ();
use File::Find ();
use JSON::PP ();

my $kDocument = 4000;    # characters: short entries and verses are gathered into documents of about this length
my $kShortest = 200;     # characters: anything shorter is a title or a crumb
my $kAnswer = 700;       # characters: an answer ends with the paragraph that passes them

my $pending = '';        # text gathered for the next document

sub read_bytes {
  my ($path) = @_;
  open(my $file, '<:raw', $path) or die "cannot read $path: $!\n";
  local $/;
  my $bytes = <$file>;
  return defined $bytes ? $bytes : '';
}

# UTF-8 where it is that, Latin-1 otherwise (no byte sequence is invalid in Latin-1).
sub to_characters {
  my ($bytes) = @_;
  my $copy = $bytes;
  my $text = eval { Encode::decode('UTF-8', $copy, Encode::FB_CROAK) };
  return defined $text ? $text : Encode::decode('iso-8859-1', $bytes);
}

sub tidy {
  my ($text) = @_;
  $text =~ s/\r\n?/\n/g;
  $text =~ s/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]//g;                # control characters
  $text =~ s/[\x{ad}\x{200b}\x{feff}]//g;                        # soft hyphen, zero-width space, byte order mark
  $text =~ s/\x{a0}/ /g;                                         # no-break space
  $text =~ s/[ \t]+$//mg;
  $text =~ s/\n{3,}/\n\n/g;
  $text =~ s/\A\s+|\s+\z//g;
  return $text;
}

sub print_document {
  my $text = tidy(@_);
  print $text, "\n<|endoftext|>\n" if length($text) >= $kShortest;
}

# Adds a piece to the document being gathered; prints it once it is long enough.
sub gather {
  $pending .= $_[0];
  flush_document() if length($pending) >= $kDocument;
}

sub flush_document {
  print_document($pending);
  $pending = '';
}

# The entries of a dictionary: a headword at column 0 each, and what is indented below.
sub entries_of {
  my ($path) = @_;
  my $bytes = Compress::Zlib::memGunzip(read_bytes($path));
  die "$path is not gzip data\n" unless defined $bytes;
  my $text = to_characters($bytes);
  $text =~ s/\A.*?^00-database-short\n[^\n]*\n//ms;    # how dictd made the file
  $text =~ tr/{}//d;                                       # braces mark cross references
  return split /\n(?=\S)/, $text;
}

sub extract_dict {
  gather("$_\n") for entries_of(@_);
  flush_document();
}

my %character = (amp => '&', lt => '<', gt => '>', quot => '"', apos => "'");

sub strip_osis {
  my ($text) = @_;
  $text =~ s{<note\b.*?</note>}{}gs;                                       # footnotes stand in mid-sentence
  $text =~ s{</?(?:br|p|lb|lg|div|title)\b[^>]*>}{\n}g;
  $text =~ s/<[^>]*>//g;
  $text =~ s/&#x([0-9a-fA-F]{1,5});/chr hex $1/ge;
  $text =~ s/&#([0-9]{1,6});/chr $1/ge;
  $text =~ s/&(\w+);/exists $character{$1} ? $character{$1} : "&$1;"/ge;
  $text =~ s/[ \t]+/ /g;
  $text =~ s/^ | $//mg;
  return $text;
}

# A module keeps each testament as three files. X.?zs: per block, its offset and compressed size in X.?zz (each u32) and
# the size it unpacks to. X.?zv: per verse, the block number (u32), the offset in the unpacked block (u32) and the
# length, which is u16 in the old drivers and u32 in those whose name ends in 4 (some settings name the wrong one: the
# size of the file tells).
sub extract_sword {
  my ($folder) = @_;
  my ($settings) = glob("$folder/usr/share/sword/mods.d/*.conf");
  die "$folder holds no SWORD module\n" unless defined $settings;
  my ($driver) = read_bytes($settings) =~ /^ModDrv\s*=\s*(\w+)/m;
  my %seen;    # a comment on many verses is stored once for each of them
  for my $testament ('ot', 'nt') {
    for my $blocks_path (glob("$folder/usr/share/sword/modules/*/*/*/$testament.?zs")) {
      my $blocks = read_bytes($blocks_path);
      my $packed = read_bytes($blocks_path =~ s/s$/z/r);
      my $verses = read_bytes($blocks_path =~ s/s$/v/r);
      my ($record, $record_bytes) = $driver =~ /4$/ && length($verses) % 12 == 0 ? ('VVV', 12) : ('VVv', 10);
      my ($loaded, $block_text) = (-1, '');
      for (my $at = 0; $at + $record_bytes <= length $verses; $at += $record_bytes) {
        my ($block, $start, $length) = unpack($record, substr($verses, $at, $record_bytes));
        next if $length == 0;
        if ($block != $loaded) {
          die "$blocks_path has no block $block\n" if 12 * $block + 8 > length $blocks;
          my ($offset, $size) = unpack('VV', substr($blocks, 12 * $block, 8));
          $block_text = Compress::Zlib::uncompress(substr($packed, $offset, $size));
          die "$blocks_path: block $block cannot be unpacked\n" unless defined $block_text;
          $loaded = $block;
        }
        die "$blocks_path: block $block is too short\n" if $start + $length > length $block_text;
        my $comment = strip_osis(to_characters(substr($block_text, $start, $length)));
        next if $seen{$comment}++;
        # A comment can be many pages: paragraphs are what documents are gathered from.
        gather("$_\n") for split /\n/, $comment;
      }
      flush_document();
    }
  }
}

# Each blob: u32 (big-endian) unpacked size, then a zlib stream. Unpacked it is R's XDR serialisation, in which a string
# is u32 flags (type 9 in the low byte, the encoding above it), u32 length, bytes; a novel is a vector of such lines.
sub extract_rdata {
  my ($path) = @_;
  my $bytes = read_bytes($path);
  while (length $bytes > 4) {
    my $rest = substr($bytes, 4);
    my ($stream) = Compress::Zlib::inflateInit();
    my ($blob, $status) = $stream->inflate($rest);    # leaves in $rest what follows the stream
    die "$path is not an R database\n" unless $status == Compress::Zlib::Z_STREAM_END();
    $bytes = $rest;
    my @lines;
    while ($blob =~ /\x00[\x00-\x0f].\x09(....)/gs) {
      my ($start, $length) = (pos $blob, unpack('N', $1));
      next if $start + $length > length $blob;
      push @lines, to_characters(substr($blob, $start, $length));
      pos($blob) = $start + $length;
    }
    my $novel = join("\n", @lines) =~ tr/_//dr;    # underscores mark italics
    print_document($_) for split /\n(?=CHAPTER |Chapter )/, $novel;
  }
}

# Those whose names end in $ending, in the order of their paths; longer ones are data.
sub files_below {
  my ($folder, $ending) = @_;
  my @paths;
  File::Find::find({ no_chdir => 1, wanted => sub {
    push @paths, $_ if /\Q$ending\E(?:\.gz)?\z/ && -f $_ && !-l $_ && -s $_ < 1_000_000;
  } }, $folder);
  die "$folder holds no files that end in $ending\n" unless @paths;
  return sort @paths;
}

sub text_of {
  my ($path) = @_;
  my $bytes = read_bytes($path);
  $bytes = Compress::Zlib::memGunzip($bytes) // '' if $path =~ /\.gz\z/;
  return $bytes =~ /\x00/ ? '' : to_characters($bytes);    # binary
}

sub extract_files {
  my ($folder, $ending) = @_;
  print_document(text_of($_)) for files_below($folder, $ending);
}

sub extract_html {
  my ($folder) = @_;
  for my $path (files_below($folder, '.html')) {
    my $text = text_of($path);
    $text =~ s{<(script|style|head)\b.*?</\1>}{}gis;
    $text =~ s{<!--.*?-->}{}gs;
    $text =~ s/&nbsp;/ /g;
    print_document(strip_osis($text =~ s{</?(?:h\d|li|tr|dt|dd|pre|ul|ol|table)\b[^>]*>}{<p>}gir));
  }
}

# Like the arithmetic of the Pile's DM Mathematics. The numbers are those of a linear congruential generator.
sub for_arithmetic {
  my ($count, $take) = @_;
  my $state = 1;
  my $draw = sub { $state = ($state * 1103515245 + 12345) % 2147483648; return ($state >> 8) % $_[0] };
  for (1 .. $count) {
    my ($x, $y) = ($draw->(10**(1 + $draw->(4))), $draw->(10**(1 + $draw->(4))));
    my @kinds = (["What is $x plus $y?", $x + $y], ["Subtract $y from $x.", $x - $y], ["Multiply $x by $y.", $x * $y],
                 ["Which is smaller: $x or $y?", $x < $y ? $x : $y], ["What is the remainder when $x is divided by " .
                 ($y + 1) . '?', $x % ($y + 1)]);
    $take->(@{$kinds[$draw->(scalar @kinds)]});
  }
}

sub extract_arithmetic {
  for_arithmetic($_[0], sub { gather("$_[0]\n$_[1]\n") });
  flush_document();
}

my @turns;             # of the conversation that is being gathered
my $conversations = 0;

sub flush_conversation {
  return unless @turns;
  print JSON::PP->new->canonical->encode({ messages => \@turns }), "\n";
  @turns = ();
  ++$conversations;
}

sub add_answer {
  my ($question, $answer) = @_;
  push @turns, { role => 'user', content => $question }, { role => 'assistant', content => "$answer" };
  flush_conversation() if @turns / 2 > $conversations % 3;
}

# Of an entry without its category, the lines of each paragraph joined.
sub answer_in {
  my ($text) = @_;
  my $answer = '';
  for my $paragraph (split /\n\s*\n/, $text) {
    $paragraph =~ s/\s+/ /g;
    $paragraph =~ s/^ ?(?:<[^>]*> )?| $//g;
    next if $paragraph =~ /^\[[^\]]*\]$|^\([0-9-]+\)$|^$/;    # where it is from, and of when
    $answer .= ($answer eq '' ? '' : "\n") . $paragraph;
    last if length($answer) > $kAnswer;
  }
  return $answer;
}

sub extract_chat {
  my ($from, $kind) = @_;
  my @questions = ('What is %s?', 'What does %s mean?', 'Explain %s.');
  if ($kind eq 'arithmetic') {
    for_arithmetic($from, \&add_answer);
  } else {
    for my $entry (entries_of($from)) {
      my ($head, $rest) = split /\n/, $entry, 2;
      my $answer = answer_in($rest // '');
      add_answer(sprintf($questions[$conversations % @questions], $head =~ s/%%%.*//r), $answer)
        if length($answer) > 40 && $head =~ /^\w/;
    }
  }
  flush_conversation();
}

my %extract = (dict => \&extract_dict, sword => \&extract_sword, rdata => \&extract_rdata, files => \&extract_files,
               html => \&extract_html, arithmetic => \&extract_arithmetic, chat => \&extract_chat);
my ($kind, $ending) = split /:/, $ARGV[0] // '';
die "usage: extract.pl dict|sword|rdata|files:ENDING|html|arithmetic|chat:dict|chat:arithmetic PATH\n" unless @ARGV == 2 && exists $extract{$kind};
binmode STDOUT, ':encoding(UTF-8)';
$extract{$kind}->($ARGV[1], $ending);
close STDOUT or die "cannot write: $!\n";
