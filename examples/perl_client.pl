#!/usr/bin/env perl
# A client of fileops-server in plain Perl, written from docs/protocol/core.md alone.
#
#     perl perl_client.pl FILE [COMMAND]
#
# Replaces "draft" by "final" in FILE, then "todo" by "done" and "final" by "final, checked" together. COMMAND plays
# another program that changes FILE after it was read: the client is notified, its edit is refused, and it reads again.
# Needs `fileops-server` on the PATH, or the command that FILEOPS_SERVER names.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use IPC::Open2 qw(open2);
use Encode qw(decode_utf8);
use IO::Handle;
use JSON::PP ();

my $json = JSON::PP->new->utf8->canonical;    # encodes to and decodes from UTF-8 bytes
binmode STDOUT, ':utf8';
my $n_requests = 0;
my ($from_server, $to_server);

sub send_message {
    my ($message) = @_;
    my $body = $json->encode({ jsonrpc => '2.0', %$message });
    printf {$to_server} "Content-Length: %d\r\n\r\n%s", length $body, $body;    # in bytes
}

sub next_message {
    my $length;
    while (defined(my $line = <$from_server>)) {
        $line =~ s/\r?\n\z//;
        last if $line eq '';
        $length = $1 if $line =~ /\AContent-Length *: *(\d+)/i;
    }
    die "fileops-server has ended\n" if !defined $length;
    read($from_server, my $body, $length) == $length or die "fileops-server has ended\n";
    return $json->decode($body);
}

# Handles what is not an answer: a client ignores notifications that it does not know, and declines requests.
sub handle {
    my ($message) = @_;
    if (exists $message->{id}) {
        my %error = (code => -32601, message => "No such method: $message->{method}");
        send_message({ id => $message->{id}, error => \%error });
    }
    elsif ($message->{method} eq 'fileops/didBecomeStale') {
        print "stale: $message->{params}{file_path} ($message->{params}{reason})\n";
    }
    elsif ($message->{method} eq 'window/showMessage') {
        print STDERR "$message->{params}{message}\n";
    }
}

# Returns the result. An error means that the request was not accepted, and is a fault of this program.
sub call {
    my ($method, $params) = @_;
    my $id = ++$n_requests;
    send_message({ id => $id, method => $method, params => $params });
    while (my $message = next_message()) {
        if (exists $message->{method}) { handle($message); next }
        die "$method: $message->{error}{message}\n" if $message->{error};
        return $message->{result};
    }
}

sub wait_for_notification {
    my ($method) = @_;
    while (my $message = next_message()) {
        handle($message) if exists $message->{method};
        return $message->{params} if ($message->{method} // '') eq $method;
    }
}

my $found = abs_path($ARGV[0] // die "usage: perl_client.pl FILE [COMMAND]\n");
my $file = decode_utf8($found);
my $root = dirname($found);
(my $path = $root) =~ s/([^\w.~\/-])/sprintf '%%%02X', ord $1/gea;    # a URI; $root is bytes
my $server = open2($from_server, $to_server, split ' ', $ENV{FILEOPS_SERVER} // 'fileops-server');
binmode $_ for $from_server, $to_server;
$to_server->autoflush(1);

my $begun = call('initialize', {
    processId => $$,
    capabilities => {},
    workspaceFolders => [ { uri => "file://$path", name => 'project' } ],
});
my $served = $begun->{capabilities}{experimental}{fileops};
die "protocol version 1 is needed\n" if $served->{protocol_version} != 1;
send_message({ method => 'initialized', params => {} });

my $read = call('fileops/read', { file_path => $file });
die "$read->{error}{message}\n" if $read->{status} eq 'error';
print "read: $read->{details}{total_lines} lines\n";

if (defined $ARGV[1]) {
    system($ARGV[1]) == 0 or die "$ARGV[1] failed\n";
    wait_for_notification('fileops/didBecomeStale');
}

my %change = (file_path => $file, old_string => 'draft', new_string => 'final');
my $edited = call('fileops/edit', \%change);
if ($edited->{status} eq 'error' && $edited->{error}{code} eq 'modified_externally') {
    print "refused: $edited->{error}{code} by $edited->{details}{changed_by}\n";
    call('fileops/read', { file_path => $file });
    $edited = call('fileops/edit', \%change);
}
die "$edited->{error}{message}\n" if $edited->{status} eq 'error';
print $edited->{ui_extra}{diff};

my $several = call('fileops/multiEdit', {
    file_path => $file,
    edits => [
        { old_string => 'todo', new_string => 'done' },
        { old_string => 'final', new_string => 'final, checked' },    # on the result of the step before
    ],
});
if ($several->{status} eq 'error') {
    print "nothing was written: step $several->{details}{edit_index}: $several->{error}{code}\n";
}
else {
    print "$several->{output}\n";
}

call('shutdown');
send_message({ method => 'exit' });
waitpid $server, 0;
exit $? >> 8;
