//! Model calls of a task, and the acceptance of their replies.

use codegen_api::status::CaseEvidence;
use codegen_core::accept::{Accepted, AcceptedSource, Refusal, accept};
use codegen_core::budget;
use codegen_core::call::{CallKind, Reply};
use codegen_core::cases::CaseSet;
use codegen_core::diagnosis::{Diagnosis, of_acceptance};
use codegen_core::machine::{Diagnosed, NewSource, Outcome};
use codegen_core::progress::{Document, Progress, asked_moment};
use codegen_core::prompts::{self, Material};
use codegen_core::reply::not_json;
use codegen_core::stage::Category;
use codegen_ledger::Store;
use codegen_model::{Model, ModelError};
use codegen_sandbox::Sandbox;

use super::ask::{AskResult, Asker};
use super::data::DataReader;
use super::event::Event;
use super::{Engine, EngineError, damaged};

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Asks the model (or takes the reply that is recorded) and says what the reply comes to.
    pub(super) async fn call(
        &self,
        progress: Progress,
        kind: CallKind,
    ) -> Result<(Progress, Outcome), EngineError> {
        // Only reads.
        let material = self.material(&progress).await?;
        let request = prompts::request(self.task, &material, kind)?;
        let asker = Asker {
            model: self.model,
            store: self.store,
            clock: self.clock,
            observe: &|event| self.emit(event),
        };
        let allow = |progress: &Progress, size| budget::allow_call(self.task, progress, size);
        let (mut progress, answer) = asker.ask(progress, &request, allow).await?;
        let outcome = match answer {
            AskResult::Reply(reply) => {
                progress.count_answer(&reply);
                self.read_reply(&progress, &material, kind, &reply).await?
            }
            AskResult::Stopped(stop) => Outcome::Stopped(stop),
            AskResult::Failed(error) => self.call_failed(&progress, &error),
        };
        Ok((progress, outcome))
    }

    /// A call without a reply takes no attempt from the task.
    fn call_failed(&self, progress: &Progress, error: &ModelError) -> Outcome {
        let may_be_billed = error.may_be_billed();
        let counted = match (may_be_billed, error.category()) {
            (true, _) => {
                "; the provider may bill this call, so that it counts as lost, with the tokens it may have cost"
            }
            (false, Category::Infrastructure) => "; no model had this call, so that it does not count",
            // What a person must change stands at the end of the message.
            (false, Category::Configuration) => "",
        };
        let mut outcome = self.blocked(progress, error.category(), &format!("{error}{counted}"));
        if let Outcome::Blocked(blocked) = &mut outcome {
            blocked.was_idle = !may_be_billed;
            let asked = error.retry_after().unwrap_or_default();
            blocked.retry_at = blocked.retry_at.max(asked_moment(asked, (self.clock)()));
        }
        outcome
    }

    async fn read_reply(
        &self,
        progress: &Progress,
        material: &Material,
        kind: CallKind,
        reply: &Reply,
    ) -> Result<Outcome, EngineError> {
        match accept(self.task, progress, material, kind, reply) {
            Ok(Accepted::Turn) => self.begin_turn(progress, material, reply).await,
            Ok(accepted) => self.accepted(progress, kind, accepted).await,
            Err(refusal) => {
                let (reason, outcome) = match refusal {
                    Refusal::Reply(fault) => (fault.reason.clone(), Outcome::ReplyRejected(fault)),
                    Refusal::NotApplied(fault) => (fault.reason.clone(), Outcome::FixNotApplied(fault)),
                };
                let said = not_json(reply);
                self.emit(&Event::ReplyRejected { kind, reason, said });
                Ok(outcome)
            }
        }
    }

    async fn accepted(
        &self,
        progress: &Progress,
        kind: CallKind,
        accepted: Accepted,
    ) -> Result<Outcome, EngineError> {
        // The sequence has moved on with the reply.
        let number = progress.sequence - 1;
        Ok(match accepted {
            Accepted::Plan(plan, set) => Outcome::Planned {
                plan,
                cases: self.put_cases(number, &set).await?,
            },
            Accepted::Constraints(reply) => self.bind_constraints(progress, &reply).await?,
            Accepted::Source(source) => self.take_source(kind, number, source).await?,
            Accepted::Cases(answers) => self.revise_cases(progress, number, &answers).await?,
            Accepted::MoreCases(set) => match self.put_cases(number, &set).await? {
                Some(cases) => Outcome::CasesAdded {
                    cases,
                    lines: set.lines(),
                },
                None => Outcome::ReplyRejected("There is no case.".into()),
            },
            Accepted::Scope(answers) => self.decide_scopes(progress, number, &answers).await?,
            Accepted::Diagnosis {
                diagnosis,
                declared,
                wanted,
            } => {
                let document = self.put_diagnosis(progress, number, &diagnosis).await?;
                self.emit(&Event::Diagnosed {
                    attempt: progress.attempt,
                    failures: diagnosis
                        .failures
                        .iter()
                        .map(|failure| failure.diagnosis.clone())
                        .collect(),
                });
                Outcome::Diagnosed(Diagnosed {
                    document,
                    diagnosis,
                    declared,
                    wanted,
                })
            }
            // Taken before.
            Accepted::Turn => Outcome::Resumed,
            Accepted::Environment { replaced, wanted } => {
                let names = replaced
                    .iter()
                    .map(|(name, by)| format!("{name} -> {by}"))
                    .collect();
                self.emit(&Event::FixApplied { kind, names });
                Outcome::EnvironmentFixed { replaced, wanted }
            }
        })
    }

    /// Stores cases; nothing where there are none.
    async fn put_cases(
        &self,
        number: u32,
        set: &CaseSet,
    ) -> Result<Option<(Document, CaseEvidence)>, EngineError> {
        if *set == CaseSet::default() {
            return Ok(None);
        }
        let name = format!("documents/cases-{number:04}.json");
        let bytes = serde_json::to_vec_pretty(set).map_err(|error| damaged(&name, &error.to_string()))?;
        let document = self.put(name, &bytes).await?;
        Ok(Some((document, set.evidence(self.task))))
    }

    async fn take_source(
        &self,
        kind: CallKind,
        number: u32,
        source: AcceptedSource,
    ) -> Result<Outcome, EngineError> {
        let solution = matches!(kind, CallKind::Code | CallKind::FixCode);
        let what = if solution { "solution" } else { "tests" };
        let document = self
            .put(
                format!("documents/{what}-{number:04}.py"),
                source.source.as_bytes(),
            )
            .await?;
        let written = NewSource {
            document,
            tree: source.tree,
            declared: source.declared,
            wanted: source.wanted,
        };
        if matches!(kind, CallKind::FixCode | CallKind::FixTests) {
            self.emit(&Event::FixApplied {
                kind,
                names: source.changed,
            });
        }
        Ok(match kind {
            CallKind::Code => Outcome::CodeWritten(written),
            CallKind::FixCode => Outcome::CodeFixed(written),
            CallKind::FixTests => Outcome::TestsFixed(written),
            CallKind::Tests
            | CallKind::Plan
            | CallKind::Constraints
            | CallKind::Diagnosis
            | CallKind::FixEnvironment
            | CallKind::Cases
            | CallKind::MoreCases
            | CallKind::Scope
            | CallKind::Turn
            | CallKind::Outputs
            | CallKind::Program => Outcome::TestsWritten(written),
        })
    }

    /// Failing acceptance tests, diagnosed without a model.
    pub(super) async fn diagnose_acceptance(&self, progress: &Progress) -> Result<Outcome, EngineError> {
        let material = self.material(progress).await?;
        let failed = material.verdict.map(|verdict| verdict.failed).unwrap_or_default();
        let diagnosis = Diagnosis {
            failures: failed.iter().map(of_acceptance).collect(),
        };
        let number = progress.sequence;
        let document = self.put_diagnosis(progress, number, &diagnosis).await?;
        let failures = diagnosis
            .failures
            .iter()
            .map(|failure| failure.diagnosis.clone())
            .collect();
        self.emit(&Event::Diagnosed {
            attempt: progress.attempt,
            failures,
        });
        let (declared, wanted) = (progress.build.declared.clone(), progress.build.wanted.clone());
        Ok(Outcome::Diagnosed(Diagnosed {
            document,
            diagnosis,
            declared,
            wanted,
        }))
    }

    /// Stores the diagnosis of an attempt, a second one of it (in another try) under the number of its call too.
    async fn put_diagnosis(
        &self,
        progress: &Progress,
        number: u32,
        diagnosis: &Diagnosis,
    ) -> Result<Document, EngineError> {
        let attempt = progress.attempt;
        let name = if progress.attempts_of_try() == 0 {
            format!("documents/diagnosis-{attempt:04}-{number:04}.json")
        } else {
            format!("documents/diagnosis-{attempt:04}.json")
        };
        let bytes =
            serde_json::to_vec_pretty(diagnosis).map_err(|error| damaged(&name, &error.to_string()))?;
        self.put(name, &bytes).await
    }
}
