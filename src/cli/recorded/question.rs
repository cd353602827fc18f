//! The record of a question in a cluster: its run, and the documents that its answer came from.

use std::collections::BTreeMap;

use kube::ResourceExt as _;

use crate::cli::cluster::{Cluster, is_forbidden};
use crate::cli::command::CommandError;
use crate::controller::record::records::{CODE_MODE, QUESTION, Records};
use crate::controller::record::unpack::unpack_of;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunStatus};
use codegen_code_mode::journal::{Call, CallEnd};
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{CONVERSATION, Evidence, Question, QuestionProgress};
use codegen_engine::code_mode::record::{QuestionRecord, documents, record};
use codegen_ledger::{Created, Entry, MemoryStore, Store, StoreError};

/// Times that the record of a question is read that ends meanwhile.
const MOST_READS: u32 = 4;

/// A question with what is recorded of it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RecordedQuestion {
    /// As it stands at the API server.
    pub object: CodeModeRun,
    /// Progress; `None` before it has begun, and where another version wrote it.
    pub progress: Option<QuestionProgress>,
    /// Replies, programs and journals by their names in the record.
    pub documents: BTreeMap<String, Vec<u8>>,
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
    let mut object: CodeModeRun = cluster.get(name).await?;
    let mut reads = 0;
    loop {
        reads += 1;
        let error = match all_documents(cluster, &object).await {
            Ok(documents) => return Ok(RecordedQuestion::new(object, documents, None)),
            Err(error) if is_forbidden(&error) => {
                let why = withheld(cluster);
                return Ok(RecordedQuestion::new(object, BTreeMap::new(), Some(why)));
            }
            Err(error) => error,
        };
        // Its documents move into one Secret when it ends, which may have happened since the status was read.
        let now: CodeModeRun = cluster.get(name).await?;
        if now.metadata.resource_version == object.metadata.resource_version || reads == MOST_READS {
            return Err(error.into());
        }
        object = now;
    }
}

/// The Secrets of a question that goes on.
pub(in crate::cli) fn question_records<'a>(cluster: &'a Cluster, object: &'a CodeModeRun) -> Records<'a> {
    let metadata = &object.metadata;
    Records {
        client: &cluster.client,
        namespace: &cluster.namespace,
        task: metadata.name.as_deref().unwrap_or_default(),
        uid: metadata.uid.as_deref().unwrap_or_default(),
        run: CODE_MODE,
    }
}

fn withheld(cluster: &Cluster) -> String {
    let namespace = &cluster.namespace;
    format!(
        "replies, programs and what tools gave may hold data, so they are in Secrets, which you may not read in namespace {namespace}: \
         ask for the right to get Secrets there, which the stock ClusterRole edit has \
         (kubectl create rolebinding NAME -n {namespace} --clusterrole edit --user YOU)"
    )
}

async fn all_documents(
    cluster: &Cluster,
    object: &CodeModeRun,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let status = object.status.as_ref();
    if let Some(result) = status.and_then(|status| status.result.as_ref()) {
        let uid = object.uid().unwrap_or_default();
        return unpack_of(&cluster.client, &cluster.namespace, result, &uid).await;
    }
    let Some(progress) = QuestionProgress::recorded_in(object)? else {
        return Ok(BTreeMap::new());
    };
    let store = UnderWay(question_records(cluster, object));
    let mut all = documents(&store, &progress).await?;
    for name in [QUESTION, CONVERSATION] {
        if let Some(bytes) = store.read(name).await? {
            all.insert(name.to_owned(), bytes);
        }
    }
    Ok(all)
}

/// The documents of a question that goes on, which are read and nothing else.
struct UnderWay<'a>(Records<'a>);

impl Store for UnderWay<'_> {
    type Progress = QuestionProgress;

    async fn load(&self) -> Result<Option<QuestionProgress>, StoreError> {
        Ok(None)
    }

    async fn save(&self, _: &QuestionProgress) -> Result<(), StoreError> {
        Err(read_only("progress"))
    }

    async fn create(&self, name: &str, _: &[u8]) -> Result<Created, StoreError> {
        Err(read_only(name))
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.fetch(name).await
    }
}

fn read_only(name: &str) -> StoreError {
    StoreError::Remote {
        action: format!("write `{name}`"),
        source: "the record of a question is written by the operator alone".into(),
    }
}

impl RecordedQuestion {
    fn new(object: CodeModeRun, documents: BTreeMap<String, Vec<u8>>, withheld: Option<String>) -> Self {
        Self {
            progress: QuestionProgress::recorded_in(&object).ok().flatten(),
            object,
            documents,
            withheld,
        }
    }

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
        match &self.withheld {
            Some(message) => Err(CommandError::usage(message.clone())),
            None => Ok(self),
        }
    }

    /// Says where it stands, in words.
    pub fn standing(&self) -> String {
        let status = self.status();
        let stage = status.stage.as_deref().unwrap_or("Pending");
        let is = if self.has_ended() { "ended" } else { "is" };
        match status.reason {
            Some(reason) => format!("it {is} in stage {stage}: {reason}"),
            None => format!("it {is} in stage {stage}"),
        }
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
            let evidence = self.evidence(&failed.evidence.name)?;
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
        let programs = self.programs().await?;
        let numbers: Vec<String> = programs.iter().map(|one| one.number.to_string()).collect();
        let found = match number {
            Some(number) => programs.into_iter().find(|one| one.number == number),
            None => programs.into_iter().next_back(),
        };
        found.ok_or_else(|| match number {
            Some(number) if !numbers.is_empty() => CommandError::usage(format!(
                "{} has no program {number}: recorded are {}",
                self.name(),
                numbers.join(", ")
            )),
            _ => CommandError::failed(format!("{} has no program yet; {}", self.name(), self.standing())),
        })
    }

    fn evidence(&self, name: &str) -> Result<Evidence, CommandError> {
        let bytes = self.documents.get(name).map_or(&[][..], Vec::as_slice);
        serde_json::from_slice(bytes).map_err(|error| {
            CommandError::usage(format!(
                "{name} of the record cannot be read, another version may have made it: {error}"
            ))
        })
    }
}
