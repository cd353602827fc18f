//! The rules that are shipped, with their examples tried.

use crate::judge::{Class, Judgement, judge};
use crate::rules::{Rules, RulesError};

impl Rules {
    /// The rules that are shipped.
    pub fn shipped() -> Result<Self, RulesError> {
        Self::from_yaml(include_str!("rules.yaml"))
    }

    /// Rules of a table, each of whose examples is judged as its place says.
    pub fn from_yaml(text: &str) -> Result<Self, RulesError> {
        let rules = Self::parse(text)?;
        for rule in &rules.safe {
            rules.check(&rule.rule, Class::Safe, &rule.matches, &rule.differs)?;
        }
        for rule in &rules.intercepted {
            rules.check(&rule.rule, Class::Intercepted, &rule.matches, &rule.differs)?;
        }
        for rule in &rules.denied {
            rules.check(&rule.rule, Class::Denied, &rule.matches, &rule.differs)?;
        }
        Ok(rules)
    }

    fn check(
        &self,
        rule: &str,
        class: Class,
        matches: &[String],
        differs: &[String],
    ) -> Result<(), RulesError> {
        let problem = |example: &String, judged: &Judgement| RulesError::Example {
            rule: rule.to_owned(),
            example: example.clone(),
            problem: format!("is {:?} by {} ({})", judged.class, judged.rule, judged.reason),
        };
        let applies =
            |judged: &Judgement| judged.class == class && judged.rule.split(", ").any(|used| used == rule);
        if matches.is_empty() || differs.is_empty() {
            return Err(RulesError::Example {
                rule: rule.to_owned(),
                example: String::new(),
                problem: "is the only one under match or no_match".to_owned(),
            });
        }
        for example in matches {
            let judged = judge(example, self);
            if !applies(&judged) {
                return Err(problem(example, &judged));
            }
        }
        for example in differs {
            let judged = judge(example, self);
            if applies(&judged) {
                return Err(problem(example, &judged));
            }
        }
        Ok(())
    }
}
