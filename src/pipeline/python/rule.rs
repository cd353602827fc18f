//! The rules that a reply's code must meet before it is executed, by the names that `docs/program-contract.md` has for them.

/// A rule. Each names something that a run could not show, or would show only after an attempt was spent on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The options of the task are declared.
    Options,
    /// The name of every output stands in the program.
    OutputsNamed,
    /// The folder of outputs stays.
    OutputsKept,
    /// The module can be imported.
    Importable,
    /// The program does not know of tests.
    NoTestAwareness,
    /// The process ends by returning, raising or `sys.exit`.
    NoHardExit,
    /// The interpreter is left as it is.
    NoTracing,
    /// Objects do not equal everything.
    NoUniversalEquality,
    /// No test is taken out of every session.
    EveryTestRuns,
    /// Tests check something.
    TestsAssert,
    /// Tests reach the program.
    TestsCallTheProgram,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 11] = [
        Self::Options,
        Self::OutputsNamed,
        Self::OutputsKept,
        Self::Importable,
        Self::NoTestAwareness,
        Self::NoHardExit,
        Self::NoTracing,
        Self::NoUniversalEquality,
        Self::EveryTestRuns,
        Self::TestsAssert,
        Self::TestsCallTheProgram,
    ];

    /// Its name in the documentation and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Options => "options",
            Self::OutputsNamed => "outputs-named",
            Self::OutputsKept => "outputs-kept",
            Self::Importable => "importable",
            Self::NoTestAwareness => "no-test-awareness",
            Self::NoHardExit => "no-hard-exit",
            Self::NoTracing => "no-tracing",
            Self::NoUniversalEquality => "no-universal-equality",
            Self::EveryTestRuns => "every-test-runs",
            Self::TestsAssert => "tests-assert",
            Self::TestsCallTheProgram => "tests-call-the-program",
        }
    }
}

/// One place that must change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Line, counted from 1; 0 where something is nowhere in the file.
    pub line: u32,
    /// The rule that it breaks.
    pub rule: Rule,
    /// What is there, as a sentence for the model.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(out, "Line {}: ", self.line)?;
        }
        write!(out, "{} (rule {})", self.what, self.rule.name())
    }
}
