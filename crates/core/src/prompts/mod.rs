//! Prompts: the templates beside this file, filled in.
//!
//! System text and prefix are byte-identical in every call of a task, so that providers' prompt caches hit; what a call asks
//! for comes last. What programs, tools and data say is quoted, so that no line of it can be taken for one of these.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::{Environment, Value, context};
use serde::Serialize;

use codegen_api::case::CaseMode;
use codegen_api::common::Backend;
use codegen_api::status::{ErrorType, PlanStatus};
use codegen_api::values::ValueType;
use codegen_data::escape::one_line;

use super::agent::{AgentSession, PACKAGES, SOLUTION, TESTS, WORKSPACE, conversation};
use super::call::{AskedModel, CallKind, FaultClass, ReplyFault, Request};
use super::cases::{Blamed, CaseSet, Forms, OutputNames};
use super::diagnosis::{DiagnosedFailure, Diagnosis};
use super::failed_check::{CheckSource, FailedCheck, tail};
use super::python::functions::{functions, on_the_way, referenced_by, source_of};
use super::python::near_misses::NearMissCounts;
use super::python::outline::outline;
use super::python::{Module, SyntaxFault, suite};
use super::quoted;
use super::reply;
use super::sandbox::NetworkAccess;
use super::task::Task;
use super::verdict::Verdict;

/// Failures that one diagnosis prompt lists.
pub const LISTED_FAILURES: usize = 8;
/// Bytes of one failure's text in a prompt.
const FAILURE_BYTES: usize = 1_200;

/// Bytes of the columns and keys of all outputs in a prompt.
const OUTPUT_NAMES_BYTES: usize = 1_000;

/// Texts that a prompt may need besides the task.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// The data context.
    pub context: String,
    /// Hint that whoever asked for another try adds to the task; empty without one.
    pub hint: String,
    /// The plan.
    pub plan: PlanStatus,
    /// Source of the program.
    pub solution: String,
    /// Source of the suite.
    pub tests: String,
    /// Verdict on the last run.
    pub verdict: Option<Verdict>,
    /// Last diagnosis.
    pub diagnosis: Diagnosis,
    /// Packages of the build that failed, and what the package manager said.
    pub fault: Option<(Vec<String>, String)>,
    /// The user's acceptance tests, for the packages that they import; never part of a prompt.
    pub acceptance_tests: String,
    /// Cases that the last diagnosis blames.
    pub blamed: Vec<Blamed>,
    /// Columns and keys that the cases take for granted.
    pub output_names: Vec<OutputNames>,
    /// The cases, where further ones are asked for.
    pub cases: CaseSet,
    /// The formats of the samples, for the cases of a plan.
    pub forms: Forms,
    /// An agent's session so far.
    pub session: AgentSession,
    /// Faults of the last replies to this call, oldest first.
    pub rejections: Vec<ReplyFault>,
    /// The model that is asked.
    pub model: AskedModel,
}

/// A prompt that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A template does not fit its data.
    #[error("failed to fill in a prompt template; this is a bug of the operator, please report it")]
    Template(#[from] minijinja::Error),
    /// A stored source does not parse.
    #[error("failed to read a stored program")]
    Source(#[from] SyntaxFault),
}

/// The request of one call.
pub fn request(task: &Task, material: &Material, kind: CallKind) -> Result<Request, PromptError> {
    let mut instruction = instruction(task, material, kind)?;
    if let Some(fault) = material.rejections.last() {
        let tries = material.rejections.len();
        let is_refusal = fault.class == FaultClass::Refused;
        instruction.push_str(&render(
            "again",
            context! { tries, reason => fault.reason, is_refusal },
        )?);
    }
    Ok(Request {
        kind,
        system: system(task)?,
        prefix: prefix(task, material)?,
        instruction,
        schema: reply::schema(kind),
        max_output_tokens: u32::try_from(super::budget::MAX_OUTPUT_TOKENS).unwrap_or(u32::MAX),
        model: material.model.clone(),
        conversation: (kind == CallKind::Turn).then(|| conversation(material.session.exchanges())),
    })
}

fn system(task: &Task) -> Result<String, PromptError> {
    let role = match &task.system_prompt {
        Some(own) => own.clone(),
        None => render("role", ())?,
    };
    let contract = render(
        "contract",
        context! {
            is_agent => task.backend == Backend::Agent,
            python_version => task.image.python_version,
            network => task.sandbox.network != NetworkAccess::Denied,
            allowed => task.packages.allowed(),
            denied => task.packages.never(),
        },
    )?;
    Ok(format!("{}\n\n{}", role.trim_end(), contract.trim_end()))
}

fn prefix(task: &Task, material: &Material) -> Result<String, PromptError> {
    let inputs: Vec<Value> = task
        .inputs
        .iter()
        .map(|input| {
            let path = task.mount_name(&input.name).map(|file| format!("/var/inputs/{file}"));
            context! { name => input.name, type => input.type_, default => path.or_else(|| input.default.clone()), description => input.description }
        })
        .collect();
    let outputs: Vec<Value> = task
        .outputs
        .iter()
        .map(|output| context! { name => output.name, type => output.type_, format => output.format, description => output.description })
        .collect();
    render(
        "prefix",
        context! {
            prompt => task.prompt.trim_end(), schema => task.schema, constraints => task.constraints,
            hint => material.hint.trim(), inputs, outputs, context => material.context.trim_end(), is_private => task.has_private_data(),
        },
    )
}

fn instruction(task: &Task, material: &Material, kind: CallKind) -> Result<String, PromptError> {
    let plan = &material.plan;
    match kind {
        CallKind::Constraints => render("constraints", ()),
        CallKind::Plan => render(
            "plan",
            context! {
                cases => task.cases != CaseMode::Off,
                has_dir => task.inputs.iter().any(|input| input.type_ == ValueType::Dir),
            },
        ),
        CallKind::Code => render("code", context! { plan, names => names(material) }),
        CallKind::Tests => {
            let outline = outline(&Module::parse(&material.solution)?);
            render(
                "tests",
                context! { plan, names => names(material), outline => outline.trim_end() },
            )
        }
        CallKind::Diagnosis => diagnosis(material),
        CallKind::FixCode => fix_code(material),
        CallKind::FixTests => fix_tests(material),
        CallKind::Cases => {
            let cases: Vec<_> = material.blamed.iter().map(|blamed| &blamed.run.case).collect();
            render("cases", context! { cases })
        }
        CallKind::MoreCases => {
            let near_misses = material
                .verdict
                .as_ref()
                .and_then(|verdict| verdict.near_misses.as_ref());
            let unseen = near_misses
                .map(NearMissCounts::unseen_by_plan)
                .unwrap_or_default();
            let has_dir = task.inputs.iter().any(|input| input.type_ == ValueType::Dir);
            render("more_cases", context! { unseen, cases => plan.cases, has_dir })
        }
        CallKind::Scope => {
            let verdict = material.verdict.iter();
            let doubtful: Vec<_> = verdict
                .flat_map(|verdict| &verdict.doubtful)
                .map(|one| context! { text => task.constraints.get(one.constraint), output => one.output, column => one.column })
                .collect();
            render("scope", context! { doubtful, names => names(material) })
        }
        CallKind::Outputs => render("outputs", ()),
        // Written without a task, by `code_mode::request`.
        CallKind::Program => Ok(String::new()),
        CallKind::Turn => render(
            "agent",
            context! {
                plan, names => names(material), workspace => WORKSPACE, solution => SOLUTION, tests => TESTS, packages => PACKAGES,
                has_cases => !plan.cases.is_empty(), has_acceptance => task.acceptance_tests.is_some(),
                turns => task.limits.agent_max_turns,
            },
        ),
        CallKind::FixEnvironment => {
            let (packages, fault) = material.fault.clone().unwrap_or_default();
            render(
                "fix_environment",
                context! { packages, fault => tail(&fault, 2_000) },
            )
        }
    }
}

/// Columns and keys of outputs on one line (`summary: species, total`).
fn names(material: &Material) -> String {
    let outputs = material.output_names.iter();
    let outputs: Vec<String> = outputs
        .map(|of| format!("{}: {}", of.output, of.names.join(", ")))
        .collect();
    head(&outputs.join("; "), OUTPUT_NAMES_BYTES)
}

/// Lists the failures of `verdict` that the diagnosis is asked about, in order: all but the acceptance tests, of which no model learns.
#[must_use]
pub fn listed(verdict: &Verdict) -> Vec<&FailedCheck> {
    verdict
        .failed
        .iter()
        .filter(|check| !check.source.is_hidden())
        .take(LISTED_FAILURES)
        .collect()
}

#[derive(Serialize)]
struct ListedCheck {
    id: String,
    source: Option<String>,
    text: String,
}

fn diagnosis(material: &Material) -> Result<String, PromptError> {
    let solution = Module::parse(&material.solution)?;
    let suite = Module::parse(&material.tests)?;
    let Some(verdict) = &material.verdict else {
        return render("diagnosis", ());
    };
    let listed = listed(verdict);
    let mut on_the_way: Vec<String> = Vec::new();
    let mut checks = Vec::new();
    for check in &listed {
        let test = suite::resolve(&suite, &check.detail.id);
        on_the_way.extend(way_of(&solution, &suite, check, test.as_deref()));
        let source = test
            .as_deref()
            .and_then(|name| source_of(&suite, name))
            .map(str::to_owned);
        let said = if source.is_some() {
            short_text(check)
        } else {
            long_text(check)
        };
        checks.push(ListedCheck {
            id: check.detail.id.clone(),
            source,
            text: said,
        });
    }
    let functions = sources_of(&solution, &on_the_way);
    let left_out = verdict
        .failed
        .iter()
        .filter(|check| !check.source.is_hidden())
        .count()
        - listed.len();
    render(
        "diagnosis",
        context! { checks, functions => functions.trim_end(), more => left_out },
    )
}

/// Functions on the way to a failure; of a rehearsal that says no place, all of them.
fn way_of(solution: &Module, suite: &Module, check: &FailedCheck, test: Option<&str>) -> Vec<String> {
    let frames = check
        .detail
        .frames
        .iter()
        .filter(|frame| frame.file == "solution.py");
    let frames: Vec<(u32, &str)> = frames
        .map(|frame| (frame.line, frame.function.as_str()))
        .collect();
    let called = test
        .map(|test| referenced_by(suite, test, solution))
        .unwrap_or_default();
    let names = on_the_way(solution, &frames, &called);
    if names.is_empty()
        && matches!(
            check.source,
            CheckSource::Rehearsal | CheckSource::Case | CheckSource::SettledCase
        )
    {
        return functions(solution)
            .into_iter()
            .map(|function| function.qualname)
            .collect();
    }
    names
}

/// Sources of these functions, in order of the file.
fn sources_of(module: &Module, names: &[String]) -> String {
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let sources: Vec<&str> = functions(module)
        .into_iter()
        .filter(|function| names.contains(function.qualname.as_str()))
        .filter_map(|function| module.source().get(function.range))
        .collect();
    sources.join("\n\n")
}

/// Exception and message; the test's own source stands above it.
fn short_text(check: &FailedCheck) -> String {
    let place = check
        .detail
        .frames
        .iter()
        .rev()
        .find(|frame| frame.file == "solution.py");
    let place = place.map_or_else(String::new, |frame| {
        format!(" (solution.py, in {})", frame.function)
    });
    let message = head(&check.detail.message, FAILURE_BYTES);
    format!("{}: {message}{place}", check.detail.exception)
}

fn long_text(check: &FailedCheck) -> String {
    let mut text = head(&check.headline(), FAILURE_BYTES);
    if !check.detail.text.is_empty() && !text.contains(check.detail.text.trim()) {
        text.push('\n');
        text.push_str(&tail(check.detail.text.trim_end(), FAILURE_BYTES));
    }
    text
}

fn fix_code(material: &Material) -> Result<String, PromptError> {
    let solution = Module::parse(&material.solution)?;
    let functions = material.diagnosis.functions(ErrorType::Logic);
    let failures: Vec<&DiagnosedFailure> = material.diagnosis.of(ErrorType::Logic).collect();
    let source = if functions.is_empty() {
        material.solution.clone()
    } else {
        sources_of(&solution, &functions)
    };
    render(
        "fix_code",
        context! { failures, functions, source => source.trim_end() },
    )
}

fn fix_tests(material: &Material) -> Result<String, PromptError> {
    let suite = Module::parse(&material.tests)?;
    let failures: Vec<&DiagnosedFailure> = material.diagnosis.of(ErrorType::TestError).collect();
    let mut functions = material.diagnosis.functions(ErrorType::TestError);
    if functions.is_empty() {
        functions = failures
            .iter()
            .map(|failure| failure.diagnosis.test.clone())
            .collect();
    }
    let sources: Vec<String> = functions
        .iter()
        .filter_map(|name| suite::resolve(&suite, name))
        .filter_map(|name| source_of(&suite, &name).map(str::to_owned))
        .collect();
    let source = if sources.is_empty() {
        material.tests.clone()
    } else {
        sources.join("\n\n\n")
    };
    render(
        "fix_tests",
        context! { failures, functions, source => source.trim_end() },
    )
}

fn head(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.trim_end().to_owned();
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}[...]", &text[..end])
}

fn render(name: &str, values: impl Serialize) -> Result<String, PromptError> {
    Ok(TEMPLATES.get_template(name)?.render(values)?)
}

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_filter("one_line", |text: &str| one_line(text).into_owned());
    environment.add_filter("quoted", quoted::quoted);
    environment.add_filter("fenced", quoted::fenced);
    let sources = [
        ("role", include_str!("templates/role.md")),
        ("contract", include_str!("templates/contract.md.j2")),
        ("prefix", include_str!("templates/prefix.md.j2")),
        ("constraints", include_str!("templates/constraints.md.j2")),
        ("plan", include_str!("templates/plan.md.j2")),
        ("agent", include_str!("templates/agent.md.j2")),
        ("code", include_str!("templates/code.md.j2")),
        ("tests", include_str!("templates/tests.md.j2")),
        ("diagnosis", include_str!("templates/diagnosis.md.j2")),
        ("fix_code", include_str!("templates/fix_code.md.j2")),
        ("fix_tests", include_str!("templates/fix_tests.md.j2")),
        ("cases", include_str!("templates/cases.md.j2")),
        ("more_cases", include_str!("templates/more_cases.md.j2")),
        ("scope", include_str!("templates/scope.md.j2")),
        ("fix_environment", include_str!("templates/fix_environment.md.j2")),
        ("outputs", include_str!("templates/outputs.md.j2")),
        ("again", include_str!("templates/again.md.j2")),
    ];
    for (name, source) in sources {
        // A template that does not parse is missing, and the test that renders every kind says so.
        let _ = environment.add_template(name, source);
    }
    environment
});

#[cfg(test)]
mod tests;
