//! Permission to start a server that is a program of this machine: whoever runs this command has allowed exactly that one, here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fmt, fs, io};

use serde_json::json;

use super::terminal::on_a_thread;
use codegen_api::code_mode::ToolSource;
use codegen_core::code_mode::{SourcedTool, ToolOrigin, command_line};
use codegen_core::digest::sha256_hex;
use codegen_sandbox::local::user_cache;
use codegen_tools::AllowedCommand;

/// Folder of what was allowed, below the user's cache.
const ALLOWED: &str = "commands";

/// A thing that somebody at a terminal is asked to allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// To start this command.
    Start(String),
    /// To send a key to the address of a model.
    SendKey {
        /// The variable that holds it.
        variable: String,
        /// The address.
        address: String,
    },
}

/// Shows what is to be allowed, and waits for whether it is. May block.
pub(crate) type AskForConsent = fn(&Consent) -> bool;

/// A server that nobody has allowed to be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAllowed {
    /// The manifests name it.
    #[error(
        "mcp.command of tool `{tool}`: nobody has allowed `{command}` to be started on this machine, where it may do what you may: give --allow-command, or run the same command at a terminal, which asks once"
    )]
    OfManifests {
        /// The tool.
        tool: String,
        /// The command.
        command: String,
    },
    /// The record of a question names it.
    #[error(
        "tool `{tool}`: the record of this question starts `{command}` on this machine, which its manifests do not name and nobody has allowed: --fresh asks with the manifests' server"
    )]
    OfRecord {
        /// The tool.
        tool: String,
        /// The command.
        command: String,
    },
}

/// Takes the name of a server, and its command.
type Report = dyn Fn(&str, &str) + Send + Sync;

/// Shows which command is started for which server.
#[derive(Clone)]
pub(crate) struct OnStart(pub Arc<Report>);

impl Default for OnStart {
    fn default() -> Self {
        Self(Arc::new(|_, _| {}))
    }
}

impl fmt::Debug for OnStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStart")
    }
}

/// Permissions to start commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    /// True where the command line allows those that the manifests name.
    pub of_manifests: bool,
    /// Asks a person; nobody is there without it.
    pub ask: Option<AskForConsent>,
    /// Is told of each command that is allowed, before it is started.
    pub on_start: OnStart,
}

/// A command that somebody wants to have started, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    /// The manifests name it.
    is_of_manifests: bool,
    /// This user has allowed it before, in this folder.
    was_allowed: bool,
}

/// Verdict on a command.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Start,
    Ask(AskForConsent),
    Refuse,
}

/// The commands that may be started.
#[derive(Default)]
pub(crate) struct AllowedCommands(BTreeMap<Vec<String>, AllowedCommand>);

impl AllowedCommands {
    /// Returns the proof that the command of a tool may be started.
    pub fn command(&self, tool: &str, argv: &[String]) -> Result<&AllowedCommand, NotAllowed> {
        self.0.get(argv).ok_or_else(|| refused(tool, argv, true))
    }
}

/// The commands of an agent's entries, with the names of these.
pub(crate) fn of_sources(sources: &[ToolSource]) -> BTreeMap<Vec<String>, &str> {
    let servers = sources.iter().filter_map(|source| {
        let mcp = source.mcp.as_ref().filter(|mcp| mcp.url.is_none())?;
        Some((mcp.command.clone(), source.name.as_str()))
    });
    servers.collect()
}

/// The commands of the tools of a recorded question, with the names of these.
pub(crate) fn of_tools(tools: &[SourcedTool]) -> BTreeMap<Vec<String>, &str> {
    let servers = tools.iter().filter_map(|tool| match &tool.origin {
        ToolOrigin::McpCommand { command, .. } => Some((command.clone(), tool.tool.name.as_str())),
        _ => None,
    });
    servers.collect()
}

impl Commands {
    const fn verdict(&self, candidate: Candidate) -> Verdict {
        if candidate.was_allowed || (self.of_manifests && candidate.is_of_manifests) {
            return Verdict::Start;
        }
        match self.ask {
            Some(ask) => Verdict::Ask(ask),
            None => Verdict::Refuse,
        }
    }

    /// Has each of `wanted` allowed, one after another, or ends at the first that nobody allows.
    pub async fn allow(
        &self,
        wanted: BTreeMap<Vec<String>, &str>,
        of_manifests: &BTreeSet<Vec<String>>,
    ) -> Result<AllowedCommands, NotAllowed> {
        let mut allowed = BTreeMap::new();
        for (argv, tool) in wanted {
            let remembered = Remembered::of(&argv);
            let is_of_manifests = of_manifests.contains(&argv);
            let verdict = self.verdict(Candidate {
                is_of_manifests,
                was_allowed: remembered.as_ref().is_some_and(Remembered::is_there),
            });
            let may_start = match verdict {
                Verdict::Start => true,
                Verdict::Refuse => false,
                Verdict::Ask(ask) => {
                    asked(
                        ask,
                        Consent::Start(command_line(&argv)),
                        remembered.as_ref(),
                        &argv,
                    )
                    .await
                }
            };
            if !may_start {
                return Err(refused(tool, &argv, is_of_manifests));
            }
            (self.on_start.0)(tool, &command_line(&argv));
            let command = AllowedCommand::by_the_user(argv.clone());
            allowed.insert(argv, command);
        }
        Ok(AllowedCommands(allowed))
    }
}

impl Commands {
    /// Asks for a key to be sent to an address that nobody named on the command line. `None` where nobody can be asked.
    pub async fn may_send_key(&self, variable: &str, address: &str) -> Option<bool> {
        // No command begins like this.
        let words = ["--model-key-env", variable, address].map(str::to_owned);
        let remembered = Remembered::of(&words);
        if remembered.as_ref().is_some_and(Remembered::is_there) {
            return Some(true);
        }
        let consent = Consent::SendKey {
            variable: variable.to_owned(),
            address: address.to_owned(),
        };
        Some(asked(self.ask?, consent, remembered.as_ref(), &words).await)
    }
}

/// The answer of somebody, which is remembered where it is yes.
async fn asked(
    ask: AskForConsent,
    consent: Consent,
    remembered: Option<&Remembered>,
    words: &[String],
) -> bool {
    let answer = on_a_thread(move || ask(&consent)).await;
    let is_allowed = answer.unwrap_or(false);
    if let (true, Some(remembered)) = (is_allowed, remembered) {
        // What cannot be remembered is asked again.
        let _ = remembered.write(words);
    }
    is_allowed
}

fn refused(tool: &str, argv: &[String], is_of_manifests: bool) -> NotAllowed {
    let (tool, command) = (tool.to_owned(), command_line(argv));
    if is_of_manifests {
        NotAllowed::OfManifests { tool, command }
    } else {
        NotAllowed::OfRecord { tool, command }
    }
}

/// A file that says: this user has allowed, or was shown, something in this folder.
pub(super) struct Remembered(PathBuf);

impl Remembered {
    /// None where there is no folder for it.
    pub(super) fn of(argv: &[String]) -> Option<Self> {
        let folder = env::current_dir().ok()?;
        let cache = user_cache().ok()?;
        Some(Self(cache.join(ALLOWED).join(digest(argv, &folder))))
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.is_file()
    }

    /// The text is for whoever looks at the file; its name is what counts.
    pub(super) fn write(&self, argv: &[String]) -> io::Result<()> {
        if let Some(folder) = self.0.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.0, command_line(argv) + "\n")
    }
}

/// Returns the digest that distinguishes a command: its words, and the folder that paths in them are of.
fn digest(argv: &[String], folder: &Path) -> String {
    sha256_hex(json!([argv, folder.to_string_lossy()]).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[rstest]
    #[case::nobody_is_there(false, false, true, false, "Refuse")]
    #[case::somebody_is_there(false, true, true, false, "Ask")]
    #[case::remembered(false, false, false, true, "Start")]
    #[case::of_the_manifests(true, false, true, false, "Start")]
    #[case::of_a_record(true, false, false, false, "Refuse")]
    #[case::of_a_record_and_somebody_is_there(true, true, false, false, "Ask")]
    fn a_command_is_started_where_this_user_allowed_it_and_asked_about_otherwise(
        #[case] of_manifests: bool,
        #[case] somebody_is_there: bool,
        #[case] is_of_manifests: bool,
        #[case] was_allowed: bool,
        #[case] expected: &str,
    ) {
        let ask: AskForConsent = |_| true;
        let commands = Commands {
            of_manifests,
            ask: somebody_is_there.then_some(ask),
            on_start: OnStart::default(),
        };
        let verdict = commands.verdict(Candidate {
            is_of_manifests,
            was_allowed,
        });
        assert!(format!("{verdict:?}").starts_with(expected), "{verdict:?}");
    }

    #[test]
    fn a_command_is_another_one_with_other_words_and_in_another_folder() {
        let (here, there) = (Path::new("/a"), Path::new("/b"));
        let allowed = digest(&argv(&["python3", "server.py"]), here);
        assert_eq!(allowed, digest(&argv(&["python3", "server.py"]), here));
        assert_ne!(allowed, digest(&argv(&["python3 server.py"]), here));
        assert_ne!(allowed, digest(&argv(&["python3", "server.py", "-v"]), here));
        assert_ne!(allowed, digest(&argv(&["python3", "server.py"]), there));
    }
}
