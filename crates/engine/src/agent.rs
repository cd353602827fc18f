//! An agent's turn: its commands in a sandbox, its tests, and what the next request is made of.

use codegen_core::accept::AcceptedWorkspace;
use codegen_core::agent::{
    AgentCommand, AgentSession, AgentStep, CommandRun, EarlyEnd, Next, Pending, SOLUTION, ToolCounts,
};
use codegen_core::call::{CallKind, Reply};
use codegen_core::digest::sha256_hex;
use codegen_core::failed_check::limit_name;
use codegen_core::machine::{AgentMoved, AgentSources, Outcome};
use codegen_core::progress::{Document, Progress};
use codegen_core::prompts::Material;
use codegen_core::sandbox::{CommandsPhase, Job, NetworkAccess, Phase, PhaseEnd, Report};
use codegen_ledger::{Created, Ledger, Store};
use codegen_model::Model;
use codegen_sandbox::Sandbox;

use super::data::DataReader;
use super::documents::{from_bytes, to_bytes};
use super::event::Event;
use super::{Engine, EngineError, Performed, damaged};

mod drive;

use drive::Move;

/// A turn that goes on.
struct Turn {
    /// The session as it is recorded.
    recorded: AgentSession,
    /// The same with what has happened since.
    session: AgentSession,
    /// Step from the recorded session to that one.
    step: AgentStep,
    /// Number of the turn's call, where it begins.
    began: Option<u32>,
}

/// Beginning of the names of steps in a record.
const STEP: &str = "documents/step-";

/// The steps of a turn that are recorded now.
#[derive(Clone, Copy)]
struct Recording {
    /// Number of the turn's call, where it begins.
    began: Option<u32>,
    /// Number of the steps.
    steps: u32,
}

impl Turn {
    fn of(session: AgentSession) -> Self {
        Self {
            step: session.step(),
            recorded: session.clone(),
            session,
            began: None,
        }
    }
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// The session as it is recorded, the turn that has begun last included.
    pub(super) async fn session(&self, progress: &Progress) -> Result<AgentSession, EngineError> {
        let mut session = AgentSession::default();
        let Some(agent) = &progress.agent else {
            return Ok(session);
        };
        let mut begun = 0;
        for number in agent.first_step..agent.next_step {
            let name = step_name(number);
            let bytes = self.store.read(&name).await?;
            let bytes = bytes.ok_or_else(|| damaged(&name, "it is missing"))?;
            let step: AgentStep = from_bytes(&name, &bytes)?;
            if step.sequence != begun {
                session.begin(step.sequence, self.turn_reply(progress, step.sequence).await?);
                begun = step.sequence;
            }
            session.take(&step);
        }
        if agent.sequence != begun {
            let reply = self.turn_reply(progress, agent.sequence).await?;
            session.begin(agent.sequence, reply);
        }
        Ok(session)
    }

    async fn turn_reply(&self, progress: &Progress, sequence: u32) -> Result<Reply, EngineError> {
        let entry = Ledger::new(self.store).find(sequence, CallKind::Turn).await?;
        let name = || format!("calls/{sequence:04}-turn.json");
        let mut reply = entry.ok_or_else(|| damaged(&name(), "it is missing"))?.reply;
        // What its provider alone can read is for the model that wrote it.
        if reply.model != self.task.asked_model(progress).other {
            reply.echo = None;
        }
        Ok(reply)
    }

    /// A turn begins with a reply; its number has moved on already.
    pub(super) async fn begin_turn(
        &self,
        progress: &Progress,
        material: &Material,
        reply: &Reply,
    ) -> Result<Outcome, EngineError> {
        let mut session = material.session.clone();
        let sequence = progress.sequence - 1;
        session.begin(sequence, reply.clone());
        let turn = Turn {
            began: Some(sequence),
            ..Turn::of(session)
        };
        self.moved(progress, material, turn).await
    }

    /// The turn goes on: what it waited for is there.
    pub(super) async fn go_on(&self, progress: &Progress) -> Result<Outcome, EngineError> {
        let material = self.material(progress).await?;
        let turn = Turn::of(material.session.clone());
        self.moved(progress, &material, turn).await
    }

    /// Runs the commands that the turn calls next, or takes what is recorded of them.
    pub(super) async fn run_commands(&self, progress: &Progress) -> Result<Performed, EngineError> {
        let number = progress.agent.as_ref().map_or(0, |agent| agent.next_step);
        // The name follows from the state: after a kill, commands that ran are told as they were, and not run again.
        let name = step_name(number);
        let recorded = self.store.read(&name).await?;
        let material = self.material(progress).await?;
        let mut session = material.session.clone();
        let pending = session.clone().proceed((self.clock)()).pending;
        if let Some(bytes) = recorded {
            let step = from_bytes(&name, &bytes)?;
            return Ok(Performed::Done(
                self.take_recorded_step(progress, session, step, None).await?,
            ));
        }
        let Pending::Commands(commands) = pending else {
            return Ok(Performed::Done(self.go_on(progress).await?));
        };
        let began = (self.clock)();
        let job = self.job_of_commands(&session, &commands);
        let image = image_of(progress);
        let answer = self.execute_one(progress, &image, &job).await;
        let report = match self.reported(progress, &image, answer) {
            Ok(report) => report,
            Err(performed) => return Ok(*performed),
        };
        let (mut run, ended) = commands_of(report);
        for result in &mut run.results {
            result.output = self.surroundings.redactor.redact(&result.output);
        }
        let step = session.ran(run, commands.len(), ended.as_ref(), began, (self.clock)());
        let turn = Turn {
            session,
            step,
            ..Turn::of(material.session.clone())
        };
        Ok(Performed::Done(self.moved(progress, &material, turn).await?))
    }

    fn job_of_commands(&self, session: &AgentSession, commands: &[AgentCommand]) -> Job {
        let denied = &self.surroundings.denied_commands;
        let phase = CommandsPhase::new(session.workspace(), commands, denied);
        // Samples are shown where models see them anyway. Secrets are for the program alone.
        let mut job = self.job(
            vec![Phase::Commands(phase)],
            self.mounts(|_| !self.task.has_private_data()),
        );
        job.env.clone_from(&self.task.sandbox.env);
        // Whatever the program may reach.
        job.network = NetworkAccess::Denied;
        job
    }

    /// Goes on with a turn as far as that needs no sandbox, and records what it came to.
    async fn moved(
        &self,
        progress: &Progress,
        material: &Material,
        turn: Turn,
    ) -> Result<Outcome, EngineError> {
        let Turn {
            recorded,
            mut session,
            step,
            began,
        } = turn;
        let moved = self.drive(progress, material, &mut session, step);
        if moved.step.is_empty() {
            let nothing = Recording { began, steps: 0 };
            return self.outcome(progress, &moved, &session, nothing).await;
        }
        let number = progress.agent.as_ref().map_or(0, |agent| agent.next_step);
        if let Some(step) = self.record_step(number, &moved.step).await? {
            return self.take_recorded_step(progress, recorded, step, began).await;
        }
        let recording = Recording { began, steps: 1 };
        self.outcome(progress, &moved, &session, recording).await
    }

    /// Goes on with a step that was recorded before a kill: what it says is so, whatever it would be now.
    async fn take_recorded_step(
        &self,
        progress: &Progress,
        mut session: AgentSession,
        step: AgentStep,
        began: Option<u32>,
    ) -> Result<Outcome, EngineError> {
        session.take(&step);
        let moved = Move::to(step, Next::Continue);
        let recording = Recording { began, steps: 1 };
        self.outcome(progress, &moved, &session, recording).await
    }

    /// Records a step; the one that is recorded already, where there is one.
    async fn record_step(&self, number: u32, step: &AgentStep) -> Result<Option<AgentStep>, EngineError> {
        let name = step_name(number);
        match self.store.create(&name, &to_bytes(&name, step)?).await? {
            Created::New => Ok(None),
            Created::Existed(bytes) => from_bytes(&name, &bytes).map(Some),
        }
    }

    async fn outcome(
        &self,
        progress: &Progress,
        moved: &Move,
        session: &AgentSession,
        recording: Recording,
    ) -> Result<Outcome, EngineError> {
        let Recording { began, steps } = recording;
        let sources = match &moved.sources {
            Some(sources) => {
                let step = progress.agent.as_ref().map_or(0, |agent| agent.next_step) + steps;
                Some(self.put_sources(progress, step, session, sources).await?)
            }
            None => None,
        };
        let tested = moved.sources.as_ref();
        let packages = tested.map(|sources| (sources.declared.clone(), sources.wanted.clone()));
        if steps > 0 || began.is_some() {
            self.emit(&Event::AgentMoved {
                turn: moved.step.turn,
                step: Box::new(moved.step.clone()),
            });
        }
        Ok(Outcome::AgentMoved(Box::new(AgentMoved {
            began,
            steps,
            counts: counts(&moved.step),
            next: moved.next,
            packages: packages.or_else(|| moved.packages.clone()),
            sources,
            doubtful_cases: moved.doubtful_cases.clone(),
            stuck: session.stuck(),
            users_fault: moved.users_fault.clone(),
            not_tested: moved.step.not_tested.clone(),
        })))
    }

    /// Stores what is tested after so many steps. A number names it, so that the list of names in a status does not grow.
    async fn put_sources(
        &self,
        progress: &Progress,
        step: u32,
        session: &AgentSession,
        sources: &AcceptedWorkspace,
    ) -> Result<AgentSources, EngineError> {
        let before = &progress.documents;
        let workspace = session.workspace();
        let text = |path| workspace.get(path).unwrap_or_default();
        let (solution, tests) = (text(SOLUTION), text(workspace.suite()));
        Ok(AgentSources {
            solution: self
                .put_changed(
                    before.solution.as_ref(),
                    format!("documents/solution-s{step:04}.py"),
                    solution,
                )
                .await?,
            solution_tree: sources.solution_tree.clone(),
            tests: self
                .put_changed(
                    before.tests.as_ref(),
                    format!("documents/tests-s{step:04}.py"),
                    tests,
                )
                .await?,
            tests_tree: sources.tests_tree.clone(),
            state: session.tested_state(),
        })
    }

    /// The document before it where that says the same, else a new one.
    async fn put_changed(
        &self,
        before: Option<&Document>,
        name: String,
        bytes: &[u8],
    ) -> Result<Document, EngineError> {
        let same = before.filter(|document| document.sha256 == sha256_hex(bytes));
        match same {
            Some(document) => Ok(document.clone()),
            None => self.put(name, bytes).await,
        }
    }
}

fn image_of(progress: &Progress) -> String {
    let built = progress.build.built.as_ref();
    built.map(|built| built.image.clone()).unwrap_or_default()
}

fn counts(step: &AgentStep) -> ToolCounts {
    let mut counts = ToolCounts::default();
    for result in step.calls() {
        *counts.by_tool.entry(result.tool.clone()).or_default() += 1;
        if result.is_denied() {
            counts.denied += 1;
        } else if result.is_error {
            counts.failed += 1;
        }
    }
    counts
}

/// Returns the results of commands that a sandbox ran, and the cause of an early end where there was one.
fn commands_of(report: Report) -> (CommandRun, Option<EarlyEnd>) {
    let Some(phase) = report.phases.into_iter().next() else {
        let lost = CommandRun {
            is_lost: true,
            ..CommandRun::default()
        };
        return (lost, None);
    };
    let ended = match phase.end {
        PhaseEnd::Exited(0) => None,
        PhaseEnd::TimedOut => Some(EarlyEnd::Other("It ended because its time was over.".to_owned())),
        PhaseEnd::LimitHit(kind) => Some(EarlyEnd::Limit(limit_name(kind).to_owned())),
        PhaseEnd::Exited(_) | PhaseEnd::Signaled(_) => Some(EarlyEnd::Other(phase.stderr.trim().to_owned())),
    };
    (phase.commands.unwrap_or_default(), ended)
}

/// Name of a step's document.
#[must_use]
pub fn step_name(number: u32) -> String {
    format!("{STEP}{number:04}.json")
}

/// Tells if a document of a record is a step of an agent.
#[must_use]
pub fn is_step(name: &str) -> bool {
    name.starts_with(STEP)
}
