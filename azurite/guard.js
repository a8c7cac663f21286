// Runs Azurite for as long as the process that started it lives.
//
//     node -e "<this text>" <path of Azurite's main.js> <flags of Azurite>
//
// With -e, process.argv is what it would be had main.js been run itself.

// Standard input is a pipe that the parent holds open and never writes to,
// except to ask for an orderly end. When the parent dies, however it does, its
// end of the pipe closes. That holds on every system.
const die = () => process.kill(process.pid, 'SIGKILL');
process.stdin.on('data', finish).on('end', die).on('error', die);

// Azurite listens for SIGTERM only a little after it says that it is up.
function finish() {
  if (!process.emit('SIGTERM')) setTimeout(finish, 20);
}

// The parent reads the first lines only, and closes its end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

// Once everything is on disk Azurite goes on waiting for its clients to hang up.
const log = console.log;
console.log = (line, ...more) => {
  log(line, ...more);
  if (/successfully closed/.test(line)) die();
};

// Ctrl-C reaches everything in the terminal at once. The parent decides when
// Azurite is no longer needed: it may have to release a lease first.
const once = process.once;
process.once = function (event, listener) {
  return event === 'SIGINT' ? this : once.call(this, event, listener);
};
process.on('SIGINT', () => {});

require(process.argv[1]);
