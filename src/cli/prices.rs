//! Prices of tokens: a table of prices, and sums that say what they do not know. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::cut;
use crate::local::manifest::{YamlDialect, parse_as};

/// Tokens that a price is for.
const PER: f64 = 1_000_000.0;
/// Longest name of a currency that is shown.
const LONGEST_CURRENCY: usize = 8;

/// Price of a million tokens.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A million tokens sent.
    pub input: f64,
    /// A million tokens received.
    pub output: f64,
}

impl Price {
    /// Returns what so many tokens cost.
    #[must_use]
    pub fn of(self, input: u64, output: u64) -> f64 {
        (input as f64 * self.input + output as f64 * self.output) / PER
    }

    fn is_usable(self) -> bool {
        [self.input, self.output]
            .iter()
            .all(|price| price.is_finite() && *price >= 0.0)
    }
}

/// The price of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPrice {
    /// Name of the model.
    pub model: String,
    /// Its price.
    pub price: Price,
}

/// Reads `some-model=2.50/10`.
pub fn named_price(text: &str) -> Result<NamedPrice, String> {
    let read = || {
        let (model, prices) = text.rsplit_once('=')?;
        let (input, output) = prices.split_once('/')?;
        let price = Price {
            input: input.trim().parse().ok()?,
            output: output.trim().parse().ok()?,
        };
        (price.is_usable() && !model.is_empty()).then(|| NamedPrice {
            model: model.to_owned(),
            price,
        })
    };
    read().ok_or_else(|| {
        "write the model, and what a million input and output tokens cost: some-model=2.50/10".to_owned()
    })
}

/// Prices of models.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// Currency of the prices (`EUR`).
    pub currency: Option<String>,
    /// By name of the model.
    pub models: BTreeMap<String, Price>,
}

impl Prices {
    /// Reads a file of prices, YAML or JSON; `name` stands for it in messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!(
                "{name} is no table of prices, which has models: {{NAME: {{input: 2.5, output: 10}}}} and a currency: {error}"
            )
        };
        // As manifests are read: keys that stand twice, and what aliases unfold to, are told in its words.
        let documents = parse_as(YamlDialect::Kustomize, name, text).map_err(|error| wrong(&error))?;
        let [document] = documents.as_slice() else {
            return Err(wrong(&"it has more or less than one document"));
        };
        let prices = serde_json::from_value(document.value.clone());
        let prices: Self = prices.map_err(|error| wrong(&error))?;
        match prices.models.iter().find(|(_, price)| !price.is_usable()) {
            Some((model, _)) => Err(format!("{name}: the price of {model} is no number from 0")),
            None => Ok(prices),
        }
    }

    /// Adds prices that go before those of the file.
    #[must_use]
    pub fn with(mut self, more: &[NamedPrice]) -> Self {
        for NamedPrice { model, price } in more {
            self.models.insert(model.clone(), *price);
        }
        self
    }

    /// An amount with its currency.
    #[must_use]
    pub fn amount(&self, amount: f64) -> String {
        match &self.currency {
            Some(currency) => format!("{amount:.4} {}", cut(currency, LONGEST_CURRENCY)),
            None => format!("{amount:.4}"),
        }
    }
}

/// A sum of which parts may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sum over the parts with a price.
    amount: f64,
    /// True where a part has none.
    is_open: bool,
}

impl Sum {
    /// Adds what something costs; `None` where nobody knows.
    pub fn add(&mut self, cost: Option<f64>) {
        match cost {
            Some(cost) => self.amount += cost,
            None => self.is_open = true,
        }
    }

    /// The whole amount, where every part of it has a price.
    #[must_use]
    pub fn whole(self) -> Option<f64> {
        (!self.is_open).then_some(self.amount)
    }

    /// In words: an amount, a least amount, or that it is unknown. Never 0 for what nobody knows.
    #[must_use]
    pub fn words(self, prices: &Prices) -> String {
        match self.whole() {
            Some(amount) => prices.amount(amount),
            // What costs nothing beside it says nothing of the sum.
            None if self.amount > 0.0 => format!("more than {}", prices.amount(self.amount)),
            None => "unknown".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 2.5,
        output: 10.0,
    };

    #[test]
    fn a_price_is_for_a_million_tokens_each_way() {
        assert!((PRICE.of(1_000_000, 100_000) - 3.5).abs() < 1e-9);
    }

    #[test]
    fn a_price_on_the_command_line_goes_before_the_file() {
        let text = "currency: EUR\nmodels: {a: {input: 1, output: 2}, b: {input: 3, output: 4}}";
        let named = named_price("a=2.5/10").unwrap();
        let prices = Prices::parse("p.yaml", text).unwrap().with(&[named]);
        assert_eq!(prices.models["a"], PRICE);
        assert!((prices.models["b"].input - 3.0).abs() < 1e-9);
        assert_eq!(prices.amount(0.12345), "0.1235 EUR");
    }

    #[test]
    fn a_model_may_have_an_equals_sign_and_a_slash_in_its_name() {
        let named = named_price("org/model=v1=1/2").unwrap();
        assert_eq!(named.model, "org/model=v1");
    }

    #[test]
    fn what_is_no_price_is_refused_with_an_example() {
        for text in ["a", "a=1", "=1/2", "a=x/2", "a=-1/2", "a=NaN/2", "a=inf/2"] {
            assert!(
                named_price(text).unwrap_err().contains("some-model=2.50/10"),
                "{text}"
            );
        }
        let refused = Prices::parse("p.yaml", "models: {a: {input: -1, output: 2}}").unwrap_err();
        assert!(refused.contains("p.yaml") && refused.contains('a'), "{refused}");
        assert!(Prices::parse("p.yaml", "modles: {}").is_err());
        assert!(Prices::parse("p.yaml", "").is_err());
    }

    #[test]
    fn no_message_about_a_file_of_prices_is_one_of_a_library() {
        let twice = "models:\n  a: {input: 1, output: 2}\n  a: {input: 1, output: 3}\n";
        let aliases = "x: &x [1]\n".to_owned()
            + &(0..30).fold(String::new(), |text, n| {
                let before = if n == 0 {
                    "x".to_owned()
                } else {
                    format!("x{}", n - 1)
                };
                format!("{text}y{n}: &x{n} [*{before}, *{before}]\n")
            });
        for text in [twice, &aliases] {
            let refused = Prices::parse("p.yaml", text).unwrap_err();
            assert!(
                !refused.contains("budget") && !refused.contains("DuplicateKeyPolicy"),
                "{refused}"
            );
            assert!(refused.contains("line "), "{refused}");
        }
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_never_the_whole() {
        let prices = Prices::default();
        let mut sum = Sum::default();
        assert_eq!(sum.words(&prices), "0.0000", "nothing costs nothing");
        sum.add(None);
        sum.add(Some(0.0));
        assert_eq!((sum.words(&prices).as_str(), sum.whole()), ("unknown", None));
        sum.add(Some(1.5));
        assert_eq!(sum.words(&prices), "more than 1.5000");
    }
}
