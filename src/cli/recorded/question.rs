//! The record of a question in a cluster: its run, and the documents that its answer came from.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::cluster::{DocumentBytes, with_documents};
use super::task::{chosen, read_json, readable, standing};
use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::controller::code_mode::owner;
use crate::controller::code_mode::store::CodeModeStore;
use crate::controller::record::records::QUESTION;
use crate::controller::record::unpack::unpack_of;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunStatus};
use codegen_code_mode::journal::{Call, CallEnd};
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{CONVERSATION, Evidence, Question, QuestionProgress};
use codegen_engine::code_mode::record::{QuestionRecord, documents, record};
use codegen_ledger::{Entry, MemoryStore, Store as _, StoreError};

/// A question with what is recorded of it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RecordedQuestion {
    /// As it stands at the API server.
    pub object: CodeModeRun,
    /// Progress; `None` before it has begun, and where another version wrote it.
    pub progress: Option<QuestionProgress>,
    /// Replies, programs and journals by their names in the record.
    pub documents: DocumentBytes,
    /// Reason that the documents cannot be read, and whom to ask; `None` where they were.
    pub withheld: Option<String>,
}

/// A program that the model wrote for a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cli) struct AnsweringProgram {
    /// Counted from 1.
    pub number: u32,
    /// Its text; empty where the reply held none.
    pub code: String,
    /// Error, where it failed.
    pub error: Option<String>,
    /// Text that it printed.
    pub printed: String,
    /// The calls of tools that have ended.
    pub calls: Vec<CallEnd>,
    /// Those that were begun, and nobody knows what they came to.
    pub in_flight: Vec<Call>,
    /// True where it gave the answer.
    pub has_answered: bool,
}

/// Reads what is recorded of the question `name`. Where Secrets may not be read, the status is all there is.
pub(in crate::cli) async fn question_from_cluster(
    cluster: &Cluster,
    name: &str,
) -> Result<RecordedQuestion, CommandError> {
    let read = async |object: &CodeModeRun| Ok((all_documents(cluster, object).await?, true));
    let what = "replies, programs and what tools gave";
    let (object, documents) = with_documents(cluster, name, what, read).await?;
    Ok(RecordedQuestion {
        progress: QuestionProgress::recorded_in(&object).ok().flatten(),
        object,
        withheld: documents.as_ref().err().cloned(),
        documents: documents.unwrap_or_default(),
    })
}

async fn all_documents(cluster: &Cluster, object: &CodeModeRun) -> Result<DocumentBytes, StoreError> {
    let owner = owner(object);
    let status = object.status.as_ref();
    if let Some(result) = status.and_then(|status| status.result.as_ref()) {
        return unpack_of(&cluster.client, &cluster.namespace, result, &owner.uid).await;
    }
    let Some(progress) = QuestionProgress::recorded_in(object)? else {
        return Ok(DocumentBytes::new());
    };
    let store = CodeModeStore::new(cluster.client.clone(), &owner, Arc::default(), object.clone());
    let mut all = documents(&store, &progress).await?;
    for name in [QUESTION, CONVERSATION] {
        if let Some(bytes) = store.read(name).await? {
            all.insert(name.to_owned(), bytes);
        }
    }
    Ok(all)
}

impl RecordedQuestion {
    /// Its name.
    pub fn name(&self) -> String {
        self.object.name_any()
    }

    /// As it stands.
    pub fn status(&self) -> CodeModeRunStatus {
        self.object.status.clone().unwrap_or_default()
    }

    /// Reports whether nothing follows.
    pub fn has_ended(&self) -> bool {
        let status = self.object.status.as_ref();
        status.is_some_and(|status| status.completed_at.is_some())
    }

    /// The documents, or why they cannot be read.
    pub fn readable(&self) -> Result<&Self, CommandError> {
        readable(self.withheld.as_ref()).map(|()| self)
    }

    /// Says where it stands, in words.
    pub fn standing(&self) -> String {
        let status = self.status();
        standing(
            status.stage.as_deref(),
            status.reason.as_deref(),
            self.has_ended(),
        )
    }

    /// Returns the question as it was frozen when it started.
    pub fn question(&self) -> Option<Question> {
        serde_json::from_slice(self.documents.get(QUESTION)?).ok()
    }

    /// The conversation with the answer, where there is one.
    pub fn conversation(&self) -> Option<&[u8]> {
        self.documents.get(CONVERSATION).map(Vec::as_slice)
    }

    /// Its documents as a store.
    pub fn store(&self) -> MemoryStore {
        MemoryStore::holding(self.documents.clone())
    }

    /// Program, answer, calls and replies.
    pub async fn record(&self) -> Result<QuestionRecord, CommandError> {
        let Some(progress) = &self.readable()?.progress else {
            return Ok(QuestionRecord::default());
        };
        let found = record(&self.store(), progress).await;
        found.map_err(|error| CommandError::usage(with_causes(&error)))
    }

    /// Calls of the model.
    pub async fn entries(&self) -> Result<Vec<Entry>, CommandError> {
        Ok(self.record().await?.entries)
    }

    /// The programs that were written, in order.
    pub async fn programs(&self) -> Result<Vec<AnsweringProgram>, CommandError> {
        let record = self.record().await?;
        let Some(progress) = &self.progress else {
            return Ok(Vec::new());
        };
        let mut programs = Vec::new();
        for failed in &progress.failed {
            let name = &failed.evidence.name;
            let bytes = self.documents.get(name).map_or(&[][..], Vec::as_slice);
            let evidence: Evidence = read_json(name, bytes)?;
            programs.push(AnsweringProgram {
                number: failed.attempt,
                code: evidence.program,
                error: Some(failed.error.clone()),
                printed: evidence.printed,
                calls: evidence.calls,
                in_flight: Vec::new(),
                has_answered: false,
            });
        }
        if let Some(code) = record.program {
            let calls = record
                .calls
                .into_iter()
                .find(|(number, _)| *number == progress.attempt);
            let in_flight = record.in_flight.into_iter();
            let in_flight = in_flight.filter(|(number, _)| *number == progress.attempt);
            let program = AnsweringProgram {
                in_flight: in_flight.map(|(_, call)| call).collect(),
                number: progress.attempt,
                code,
                error: progress.stop.as_ref().map(|stop| stop.message.clone()),
                has_answered: record.answer.is_some(),
                printed: record.answer.map(|answer| answer.printed).unwrap_or_default(),
                calls: calls.map(|(_, calls)| calls).unwrap_or_default(),
            };
            // That of a program that has failed may still be the present one.
            if programs.iter().all(|one| one.number != program.number) {
                programs.push(program);
            }
        }
        Ok(programs)
    }

    /// The program with this number; the last one where none is named.
    pub async fn program(&self, number: Option<u32>) -> Result<AnsweringProgram, CommandError> {
        let mut programs = self.programs().await?;
        let numbers: Vec<u32> = programs.iter().map(|one| one.number).collect();
        let nothing = || format!("{} has no program yet; {}", self.name(), self.standing());
        let at = chosen(number, &numbers, (&self.name(), "program"), nothing)?;
        Ok(programs.swap_remove(at))
    }
}
