//! Asks a model, for tasks and questions alike: the recorded reply, else intent, call, record.

use jiff::Timestamp;

use super::EngineError;
use super::event::Event;
use codegen_core::call::{Reply, Request, request_hash};
use codegen_core::progress::{CountsCalls, Intent};
use codegen_ledger::{Entry, Ledger, Store};
use codegen_model::{Model, ModelError};

/// Asks a model in the name of one task or question.
///
/// A reply that is recorded is never asked for again. A call counts as lost where it left an intent and no reply: a kill during
/// the call, or a connection that broke while a bill may show it.
pub struct Asker<'a, M, S> {
    /// Answers.
    pub model: &'a M,
    /// Holds progress and replies.
    pub store: &'a S,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// Receives what happens.
    pub observe: &'a (dyn Fn(&Event) + Send + Sync),
}

/// Result of asking; the state has counted the call.
pub enum AskResult<T> {
    /// A reply, which is recorded.
    Reply(Reply),
    /// A limit, before anything was sent.
    Stopped(T),
    /// No reply.
    Failed(ModelError),
}

impl<M: Model, S: Store<Progress: CountsCalls>> Asker<'_, M, S> {
    /// The reply to the next call of `progress`. `allow` gives the output limit of a call by the size of its request in tokens.
    pub async fn ask<T: Send>(
        &self,
        mut progress: S::Progress,
        request: &Request,
        allow: impl Fn(&S::Progress, u64) -> Result<u64, T> + Send,
    ) -> Result<(S::Progress, AskResult<T>), EngineError> {
        let sequence = *progress.calls().sequence;
        // The record goes before everything: what has a reply is never asked for again.
        if let Some(entry) = Ledger::new(self.store).find(sequence, request.kind).await? {
            return Ok(self.take_recorded(progress, request, entry));
        }
        // An intent that is there is that of a call in flight at a kill, which may have been billed.
        let progress = progress.with_call_lost();
        let size = request.tokens();
        let limit = match allow(&progress, size) {
            Ok(limit) => limit,
            Err(stop) => return Ok((progress, AskResult::Stopped(stop))),
        };
        let request = request.limited(limit);
        let intent = Intent::new(&request, sequence, size + limit);
        self.send(progress.with_intent(intent), sequence, &request).await
    }

    fn take_recorded<T>(
        &self,
        progress: S::Progress,
        request: &Request,
        entry: Entry,
    ) -> (S::Progress, AskResult<T>) {
        let (kind, sequence, usage) = (entry.kind, entry.sequence, entry.reply.usage);
        // The reply is used all the same: it is paid for.
        if entry.request_hash != request_hash(request) {
            (self.observe)(&Event::RequestChanged { kind, sequence });
        }
        (self.observe)(&Event::CallFinished {
            kind,
            sequence,
            usage,
            seconds: 0.0,
            from_ledger: true,
        });
        (progress.with_call_answered(usage), AskResult::Reply(entry.reply))
    }

    async fn send<T: Send>(
        &self,
        progress: S::Progress,
        sequence: u32,
        request: &Request,
    ) -> Result<(S::Progress, AskResult<T>), EngineError> {
        let kind = request.kind;
        let started_at = (self.clock)();
        // Before the request: a kill during the call leaves a trace of it.
        self.store.save(&progress).await?;
        (self.observe)(&Event::CallStarted { kind, sequence });
        let mut reply = match Box::pin(self.model.call(request)).await {
            Ok(reply) => reply,
            Err(error) => {
                let progress = if error.may_be_billed() {
                    progress.with_call_lost()
                } else {
                    progress.with_call_not_made()
                };
                return Ok((progress, AskResult::Failed(error)));
            }
        };
        let finished_at = (self.clock)();
        reply.model = reply.model.or_else(|| request.model.other.clone());
        // Before the state moves, so that a kill from here on costs no second call. Of two processes the first one's reply counts.
        let times = (started_at, finished_at);
        let entry = Box::pin(Ledger::new(self.store).record(sequence, request, reply, times)).await?;
        let usage = entry.reply.usage;
        (self.observe)(&Event::CallFinished {
            kind,
            sequence,
            usage,
            seconds: finished_at.duration_since(started_at).as_secs_f64(),
            from_ledger: false,
        });
        Ok((progress.with_call_answered(usage), AskResult::Reply(entry.reply)))
    }
}
