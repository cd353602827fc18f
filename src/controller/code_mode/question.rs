//! Questions as a kind, and one reconcile pass over one of them: what comes next is decided, done and recorded.

mod beginning;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::core::PartialObjectMeta;
use kube::runtime::Controller;
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use tokio::sync::watch;

use super::children::ChildRuns;
use super::happened::report;
use super::memory::{self, ended_in, question_has_changed};
use super::owner;
use super::resolve::clients;
use super::store::{self, CodeModeStore};
use crate::controller::api::{self, namespaced, owners};
use crate::controller::approvals::decided;
use crate::controller::context::Context;
use crate::controller::control::finish::{Finish, finish};
use crate::controller::control::{Controlled, Pass, PassResult, SAFETY_NET};
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, is_said, misconfigured, queued};
use codegen_api::CodeGenRun;
use codegen_api::approval::{ApprovalStatus, QuestionGate};
use codegen_api::code_mode::CodeModeRun;
use codegen_api::conditions::run_reason;

use crate::controller::pooled_model::PooledModel;
use crate::controller::record::records::QUESTION;
use crate::controller::schedule::corrections::{retry_if_corrected, secrets_of_model, waits_for_a_person};
use crate::controller::schedule::interpreters::ProgramRoom;
use crate::controller::schedule::shared::Shared;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_core::call::ModelIndex;
use codegen_core::code_mode::{Question, QuestionDecision, QuestionProgress, decide, held};
use codegen_core::status::{Hold, Until};
use codegen_engine::EngineError;
use codegen_engine::code_mode::clients::{Caller, ToolClients};
use codegen_engine::code_mode::{CodeModeEngine, Happened, QuestionStep};
use codegen_ledger::{Store as _, StoreError};
use codegen_sandbox::kubernetes::Owner;

impl Controlled for CodeModeRun {
    type Pass<'a> = QuestionPass<'a>;

    fn shared(context: &Context) -> &Shared<Self> {
        &context.code_mode_runs
    }

    fn pass(self, context: &Context) -> QuestionPass<'_> {
        QuestionPass {
            owner: owner(&self),
            object: self,
            context,
        }
    }

    fn trim(&mut self) {
        memory::trim(self);
    }

    fn observe(context: &Arc<Context>, _: Option<&str>, event: &watcher::Event<Self>, all: &Store<Self>) {
        match event {
            watcher::Event::Delete(run) => {
                Self::release(context, run.metadata.uid.as_deref().unwrap_or_default());
            }
            watcher::Event::Apply(run) => question_has_changed(context, run),
            // The first list, before any pass, or one after a break.
            watcher::Event::InitDone => {
                Self::forget_deleted(context);
                Self::shared(context).resume(&all.state());
            }
            // Each of the list has a pass of its own.
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    fn watch_children(
        controller: Controller<Self>,
        context: &Arc<Context>,
        namespace: Option<&str>,
        _: &Store<Self>,
    ) -> Controller<Self> {
        // As metadata, for memory: a pass reads the run that it needs by name.
        let runs = namespaced::<PartialObjectMeta<CodeGenRun>>(&context.client, namespace);
        controller.watches(runs, watcher::Config::default(), |run| owners(&run))
    }
}

/// Model and tools that a step needs besides the question.
struct Needs<'a> {
    model: PooledModel<'a>,
    tools: Caller<ChildRuns<'a>>,
}

/// One pass over one question.
pub struct QuestionPass<'a> {
    /// The run as it was written last.
    pub object: CodeModeRun,
    context: &'a Context,
    owner: Owner,
}

impl Pass for QuestionPass<'_> {
    type Of = CodeModeRun;

    fn object(&self) -> &CodeModeRun {
        &self.object
    }

    fn context(&self) -> &Context {
        self.context
    }

    async fn act(&mut self) -> PassResult {
        Box::pin(self.decide_and_do()).await
    }

    fn says_hold(&self, hold: &Hold) -> bool {
        self.object.status.as_ref().is_some_and(|status| {
            let said = (status.reason.as_deref(), status.message.as_deref());
            is_said(hold, said, status.observed_generation, &self.object)
        })
    }

    async fn write_hold(&mut self, hold: &Hold) -> Result<(), ReconcileError> {
        let before = self.object.status.clone().unwrap_or_default();
        let generation = self.object.metadata.generation;
        let object = CodeModeRun {
            status: Some(held(before, hold, generation, Timestamp::now())),
            ..self.object.clone()
        };
        self.object = api::replace_status(&self.context.client, &object).await?;
        self.context.code_mode_runs.wrote(&self.object);
        self.context.events.code_mode_run_held(&self.object, hold);
        Ok(())
    }

    fn may_hold(&self) -> bool {
        ended_in(&self.object).is_none()
    }

    fn leaves_place(&self, hold: &Hold) -> bool {
        // A wait for another question may take hours, in which others can use the place.
        hold.until != Until::Room || hold.reason == run_reason::AWAITING_RUN
    }
}

impl Finish for QuestionPass<'_> {
    fn ended_at(&self) -> Option<Timestamp> {
        let status = self.object.status.as_ref()?;
        status.completed_at.as_ref().map(|ended| ended.0)
    }

    fn time_to_live(&self) -> Option<i64> {
        self.object.spec.ttl_seconds_after_finished.map(i64::from)
    }

    fn announce(&mut self, whole: CodeModeRun) {
        self.object = whole;
        self.announce_end();
    }

    /// Deletes the documents that are packed by now. The runs of its calls stay as long as the question does.
    async fn clear(&self) {
        let status = self.object.status.as_ref();
        if status.is_some_and(|status| status.result.is_some()) {
            store::clear(&self.context.client, &self.owner).await;
        }
    }
}

impl QuestionPass<'_> {
    fn uid(&self) -> &str {
        &self.owner.uid
    }

    async fn decide_and_do(&mut self) -> PassResult {
        if ended_in(&self.object).is_some() {
            return Ok((finish(self).await?, Reconciled::Idle));
        }
        let progress = self.progress()?;
        // Before a place is asked for: a suspended run needs none.
        if self.object.spec.suspend == Some(true) {
            return Err(Hold::suspended().into());
        }
        let Some(progress) = progress else {
            return Box::pin(self.start()).await;
        };
        // The watch of decisions wakes it, so that its place is for others.
        if self.is_undecided(&progress) {
            self.context.code_mode_runs.leave(self.uid());
            return Ok((Some(SAFETY_NET), Reconciled::Waiting));
        }
        if let Some(limit) = self.context.code_mode_runs.admit(&self.object) {
            return Err(queued(limit).into());
        }
        if self.context.code_mode_runs.has_missed(&self.object) {
            // Another process may have written what this one does not know.
            self.context.code_mode_runs.documents(self.uid()).set_all(false);
        }
        let question = self.question().await?;
        Box::pin(self.step(&question, progress)).await
    }

    /// Performs the next step.
    async fn step(&mut self, question: &Question, mut progress: QuestionProgress) -> PassResult {
        let decision = match &progress.waits.approval {
            Some(awaited) => decided(self.context, &self.object, &awaited.asked).await?,
            None => None,
        };
        if decision.is_none() && self.waits_for_runs(&progress) {
            return self.await_runs(&progress).await;
        }
        let secrets = secrets_of_model(&question.model);
        let waiting = progress.waiting.as_mut();
        retry_if_corrected(&self.context.client, &question.namespace, &secrets, waiting).await;
        let now = Timestamp::now();
        let _room = match (&decision, decide(question, &progress, now)) {
            (None, QuestionDecision::Run) => match self.room(question).await? {
                Some(room) => Some(room),
                // The operator ends.
                None => return Ok((None, Reconciled::Idle)),
            },
            _ => None,
        };
        let Some(needs) = self.needs(question, &progress).await? else {
            return Ok((None, Reconciled::Idle));
        };
        let (written, done) = Box::pin(self.take(question, progress, decision, needs)).await;
        self.took(written, done)
    }

    /// Reads what the step needs, before its intent is written: what is missing must cost nothing. `None` where the operator ends.
    async fn needs<'a>(
        &'a self,
        question: &'a Question,
        progress: &QuestionProgress,
    ) -> Result<Option<Needs<'a>>, Blocked> {
        let (context, now) = (self.context, Timestamp::now());
        let model = PooledModel::new(context, &question.namespace);
        let clients = match decide(question, progress, now) {
            // What the program needs too, which may run as soon as it is written.
            QuestionDecision::Ask => {
                let left = question.limits.deadline_seconds - progress.active_seconds(now);
                let ready = try_join(
                    model.prepare((ModelIndex::Own, &question.model), left.max(0.0)),
                    clients(context, question),
                );
                let (is_ready, clients) = ready.await?;
                if !is_ready {
                    return Ok(None);
                }
                clients
            }
            QuestionDecision::Run => clients(context, question).await?,
            QuestionDecision::Finished
            | QuestionDecision::Wait(_)
            | QuestionDecision::Stop(_)
            | QuestionDecision::AwaitApproval(_) => ToolClients::default(),
        };
        let programs = ChildRuns::new(context, &self.owner, &self.object);
        let tools = Caller::new(programs, clients, self.uid(), question);
        Ok(Some(Needs { model, tools }))
    }

    /// Acts and writes: goes by a decision of a person, or takes the next step. Gives the run as it was written last.
    async fn take(
        &self,
        question: &Question,
        progress: QuestionProgress,
        decision: Option<ApprovalStatus<QuestionGate>>,
        needs: Needs<'_>,
    ) -> (CodeModeRun, Result<(QuestionProgress, QuestionStep), EngineError>) {
        let (context, store) = (self.context, self.store());
        let (in_call, _) = watch::channel(false);
        let is_stopped = || self.may_not_go_on();
        let observer = |happened: &Happened| report(context, &self.object, question, happened);
        let engine = CodeModeEngine {
            question,
            uid: self.uid(),
            model: &needs.model,
            store: &store,
            interpreter: &context.interpreter,
            tools: &needs.tools,
            clock: Timestamp::now,
            in_call: &in_call,
            is_stopped: &is_stopped,
            observer: &observer,
        };
        let done = match decision {
            Some(decision) => {
                let taken = Box::pin(engine.take_decision(progress, decision)).await;
                taken.map(|progress| (progress, QuestionStep::Advanced))
            }
            None => Box::pin(engine.step(progress)).await,
        };
        (store.into_object(), done)
    }

    /// Remembers what a step has written, and when the next pass is due.
    fn took(
        &mut self,
        written: CodeModeRun,
        done: Result<(QuestionProgress, QuestionStep), EngineError>,
    ) -> PassResult {
        self.remember(written);
        let (progress, step) = done?;
        self.context.code_mode_runs.reset_backoff(&self.object);
        Ok(self.after(&progress, &step))
    }

    /// Room for the program that runs next. Where others have it its turn is waited for, as the status says meanwhile.
    async fn room(&mut self, question: &Question) -> Result<Option<ProgramRoom>, ReconcileError> {
        let interpreters = &self.context.interpreters;
        interpreters.check(&question.agent, question.limits.memory_bytes)?;
        if let Some(room) = interpreters.try_reserve() {
            return Ok(Some(room));
        }
        let hold = queued("other programs run, as many as codeMode.maxInterpreters allows".to_owned());
        if !self.says_hold(&hold) {
            self.write_hold(&hold).await?;
        }
        let namespace = self.object.namespace().unwrap_or_default();
        Ok(interpreters.reserve(&namespace).await)
    }

    /// Reports whether the program may make no further call: the operator ends, or somebody has suspended or deleted the question since
    /// this pass began.
    fn may_not_go_on(&self) -> bool {
        let runs = &self.context.code_mode_runs;
        let is_gone = runs.recall(self.uid(), |_| ()).is_none();
        if self.context.stopping.is_cancelled() || is_gone {
            return true;
        }
        runs.latest(&self.object).is_some_and(|latest| {
            latest.uid() != self.object.uid()
                || latest.metadata.deletion_timestamp.is_some()
                || latest.spec.suspend == Some(true)
        })
    }

    /// Decides when the next pass is due, and what this one came to.
    fn after(&self, progress: &QuestionProgress, step: &QuestionStep) -> (Option<Duration>, Reconciled) {
        let runs = &self.context.code_mode_runs;
        let needs_person = progress.waiting.as_ref().is_some_and(waits_for_a_person);
        if needs_person && !progress.stage.is_terminal() {
            runs.leave(self.uid());
        }
        match step {
            QuestionStep::Advanced | QuestionStep::Finished => (None, Reconciled::Advanced),
            QuestionStep::Pending => (Some(SAFETY_NET), Reconciled::Pending),
            // The next pass leaves the place, unless somebody has decided meanwhile.
            // What stopped it has brought another pass on.
            QuestionStep::Gate(_) | QuestionStep::Stopped => (Some(SAFETY_NET), Reconciled::Waiting),
            QuestionStep::Waiting(until) => {
                let pause = runs.pause_until(&self.object, *until, needs_person);
                (Some(pause), Reconciled::Waiting)
            }
        }
    }

    /// Remembers which version was written, so that no older one is acted on, and announces an end.
    fn remember(&mut self, written: CodeModeRun) {
        let had_ended = ended_in(&self.object).is_some();
        self.context.code_mode_runs.wrote(&written);
        self.object = written;
        if ended_in(&self.object).is_some() && !had_ended {
            self.announce_end();
        }
    }

    /// Reads the recorded progress of the answer; `None` where nothing is recorded.
    fn progress(&self) -> Result<Option<QuestionProgress>, ReconcileError> {
        QuestionProgress::recorded_in(&self.object).map_err(|error| misconfigured(error.to_string()).into())
    }

    fn damaged(&self, what: &str, detail: &str) -> StoreError {
        StoreError::Damaged {
            name: format!("CodeModeRun {}/{}, {what}", self.owner.namespace, self.owner.name),
            detail: detail.to_owned(),
        }
    }

    fn store(&self) -> CodeModeStore<'_> {
        let documents = self.context.code_mode_runs.documents(self.uid());
        CodeModeStore::new(
            self.context.client.clone(),
            &self.owner,
            documents,
            self.object.clone(),
        )
    }

    /// Returns the question as it was frozen.
    async fn question(&self) -> Result<Arc<Question>, ReconcileError> {
        if let Some(question) = self.context.code_mode_runs.question(self.uid()) {
            return Ok(question);
        }
        let bytes = self.store().read(QUESTION).await?;
        let bytes = bytes.ok_or_else(|| self.damaged("the Secret with its question", "it is gone"))?;
        let question = serde_json::from_slice(&bytes);
        let question = question.map_err(|error| self.damaged("its question", &error.to_string()))?;
        Ok(self
            .context
            .code_mode_runs
            .cache_question(self.uid(), Arc::new(question)))
    }

    /// Counts the end and says it in an Event.
    pub fn announce_end(&self) {
        self.context.events.code_mode_run_ended(&self.object);
        question_has_changed(self.context, &self.object);
    }
}
