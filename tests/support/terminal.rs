//! The program at a terminal that a test plays.

use std::path::Path;
use std::process::Command;

/// A terminal.
#[derive(Default)]
pub struct Terminal<'a> {
    /// Its width; that of a terminal that says none where this is 0.
    pub columns: u16,
    /// What is typed when the program asks.
    pub typed: &'a str,
    /// With what its question ends; empty for `[y/N]`.
    pub question: &'a str,
    /// What the environment has besides.
    pub environment: &'a [(&'a str, &'a str)],
}

const PTY: &str = "
import fcntl, os, pty, struct, sys, termios
columns, typed, question, program, *arguments = sys.argv[1:]
pid, screen = pty.fork()
if pid == 0:
    if columns != '0':
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 50, int(columns), 0, 0))
    os.execv(program, [program, *arguments])
seen, is_asked = b'', False
while True:
    try:
        written = os.read(screen, 65536)
    except OSError:
        break
    if not written:
        break
    seen += written
    if not is_asked and question.encode() in seen:
        is_asked = True
        os.write(screen, typed.encode() + b'\\n')
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

impl Terminal<'_> {
    /// What the program writes to it, and its exit code.
    pub fn run(&self, folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
        let columns = self.columns.to_string();
        let question = if self.question.is_empty() {
            "[y/N]"
        } else {
            self.question
        };
        let program = env!("CARGO_BIN_EXE_kubectl-codegen");
        let output = Command::new("python3")
            .current_dir(folder)
            .args(["-c", PTY, &columns, self.typed, question, program])
            .args(arguments)
            .env_remove("NO_COLOR")
            .env_remove("LC_ALL")
            .env_remove("LC_CTYPE")
            .env("LANG", "C.UTF-8")
            // Python would hand on another locale than C.
            .env("PYTHONCOERCECLOCALE", "0")
            .env("TERM", "xterm-256color")
            .envs(self.environment.iter().copied())
            .output()
            .unwrap();
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        (seen, output.status.code())
    }
}
