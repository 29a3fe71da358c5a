//! The written document of a policy, and the proof that this crate enforces every member of it.

use alloy_primitives::{Selector, U256, hex, keccak256};
use calldata_checks::swap::calldata::IMPLEMENTED;
use plan_builder::wire::{Digits, Eip55};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{OutputToken, Shape};
use crate::{Name, Refusal, Rule};

/// The form of the document.
const SCHEMA: &str = "svc.fence.policy/1";
/// The longest life of a grant, in days, whatever a policy states.
pub(super) const MOST_DAYS: u64 = crate::MOST_GRANT_DAYS;
/// The only possible steps.
const STEPS: [&str; 3] = ["approve_reset", "approve", "call"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) schema: String,
    pub(super) name: Plain,
    pub(super) version: u64,
    pub(super) chain: String,
    pub(super) environment: Plain,
    pub(super) input_token: InputToken,
    pub(super) router: Eip55,
    pub(super) per_swap_cap: PerSwapCap,
    pub(super) daily_cap: Option<Digits>,
    pub(super) total_cap: Option<Digits>,
    pub(super) native_value_max: Digits,
    pub(super) shapes: Vec<ShapeRecord>,
    pub(super) steps: Vec<String>,
    pub(super) receiver: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<Vec<OutputTokenRecord>>,
    pub(super) grant: GrantLife,
    pub(super) max_plans_in_flight: u64,
    pub(super) capability: Name,
    pub(super) fee_config_version: Plain,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) integrator: Option<Plain>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputToken {
    pub(super) address: Eip55,
    pub(super) decimals: u8,
    pub(super) symbol: Plain,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputTokenRecord {
    pub(super) chain: String,
    pub(super) address: Eip55,
    pub(super) symbol: Plain,
    pub(super) source: Plain<200>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerSwapCap {
    pub(super) unit: String,
    pub(super) max: Digits,
    pub(super) usd: Digits,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShapeRecord {
    pub(super) model: String,
    pub(super) selector: FourBytes,
    pub(super) signature: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantLife {
    pub(super) default_days: u64,
    pub(super) max_days: u64,
}

/// A text of at most `MOST` characters of printable ASCII. It has one Unicode form and hides
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Plain<const MOST: usize = 64>(String);

impl<'de, const MOST: usize> Deserialize<'de> for Plain<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let fits = (1..=MOST).contains(&text.len())
            && text.trim() == text
            && text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
        fits.then_some(Self(text)).ok_or_else(|| {
            let expected = format!("expected 1 to {MOST} characters of printable ASCII");
            D::Error::custom(expected)
        })
    }
}

impl<const MOST: usize> std::ops::Deref for Plain<MOST> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MOST: usize> std::fmt::Display for Plain<MOST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A selector: `0x` and eight lower-case digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FourBytes(pub(super) Selector);

impl Serialize for FourBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode_prefixed(self.0))
    }
}

impl<'de> Deserialize<'de> for FourBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .ok()
            .map(Self)
            .filter(|read| hex::encode_prefixed(read.0) == text)
            .ok_or_else(|| D::Error::custom("expected 0x and 8 lower-case hexadecimal digits"))
    }
}

impl Document {
    /// Checks that this crate enforces every member. Returns the chain's id.
    pub(super) fn require_enforceable(&self) -> Result<u64, Refusal> {
        let text = |member, expected: &str, observed: &str| {
            if expected == observed {
                return Ok(());
            }
            Err(refuse(member, expected, observed))
        };
        text("schema", SCHEMA, &self.schema)?;
        text(
            "per_swap_cap.unit",
            "input_token_atoms",
            &self.per_swap_cap.unit,
        )?;
        text("receiver", "grant.account", &self.receiver)?;
        if self.steps != STEPS {
            return Err(refuse("steps", STEPS.join(", "), self.steps.join(", ")));
        }
        for (member, cap) in [
            ("daily_cap", &self.daily_cap),
            ("total_cap", &self.total_cap),
        ] {
            if let Some(cap) = cap {
                return Err(refuse(member, "null", cap.0));
            }
        }
        if !self.native_value_max.0.is_zero() {
            return Err(refuse("native_value_max", 0, self.native_value_max.0));
        }
        if self.max_plans_in_flight != 1 {
            return Err(refuse("max_plans_in_flight", 1, self.max_plans_in_flight));
        }
        self.require_cap()?;
        self.require_life()?;
        self.require_shapes()?;
        self.require_output_tokens()?;
        self.chain
            .strip_prefix("eip155:")
            .and_then(|id| {
                id.parse::<u64>()
                    .ok()
                    .filter(|number| *number > 0 && number.to_string() == id)
            })
            .ok_or_else(|| refuse("chain", "eip155: and a chain id", &self.chain))
    }

    fn require_cap(&self) -> Result<(), Refusal> {
        // The cap in dollars is published, and the cap in atoms is compared. They must be equal at
        // par.
        let atoms = U256::from(10)
            .checked_pow(U256::from(self.input_token.decimals))
            .and_then(|one| self.per_swap_cap.usd.0.checked_mul(one));
        if atoms == Some(self.per_swap_cap.max.0) && !self.per_swap_cap.max.0.is_zero() {
            return Ok(());
        }
        Err(refuse(
            "per_swap_cap",
            "max = usd in the input token's smallest unit, above zero",
            format_args!(
                "max {}, usd {}, {} decimals",
                self.per_swap_cap.max.0, self.per_swap_cap.usd.0, self.input_token.decimals
            ),
        ))
    }

    fn require_life(&self) -> Result<(), Refusal> {
        let GrantLife {
            default_days,
            max_days,
        } = self.grant;
        if 0 < default_days && default_days <= max_days && max_days <= MOST_DAYS {
            return Ok(());
        }
        Err(refuse(
            "grant",
            format_args!("0 < default_days <= max_days <= {MOST_DAYS}"),
            format_args!("default_days {default_days}, max_days {max_days}"),
        ))
    }

    fn require_shapes(&self) -> Result<(), Refusal> {
        if self.shapes.is_empty() {
            return Err(refuse("shapes", "at least one", "none"));
        }
        for (index, shape) in self.shapes.iter().enumerate() {
            if shape.model != "B" {
                return Err(refuse("shapes.model", "B", &shape.model));
            }
            let hash = keccak256(&shape.signature);
            if !hash.starts_with(shape.selector.0.as_slice()) {
                return Err(refuse(
                    "shapes.selector",
                    "the selector of the signature beside it",
                    shape.selector.0,
                ));
            }
            if !IMPLEMENTED.contains(&shape.selector.0) {
                return Err(refuse(
                    "shapes.selector",
                    IMPLEMENTED.map(|selector| selector.to_string()).join(", "),
                    shape.selector.0,
                ));
            }
            let again = self.shapes.iter().take(index);
            if again
                .into_iter()
                .any(|before| before.selector == shape.selector)
            {
                return Err(refuse("shapes.selector", "each once", shape.selector.0));
            }
        }
        Ok(())
    }

    /// A listed token is one that a swap can end in: on the policy's chain, and not what the swap
    /// began with.
    fn require_output_tokens(&self) -> Result<(), Refusal> {
        let Some(tokens) = &self.output_tokens else {
            return Ok(());
        };
        if tokens.is_empty() {
            return Err(refuse("output_tokens", "at least one", "none"));
        }
        for (index, token) in tokens.iter().enumerate() {
            let address = token.address.address();
            if token.chain != self.chain {
                return Err(refuse("output_tokens.chain", &self.chain, &token.chain));
            }
            if address.is_zero() || address == self.input_token.address.address() {
                let expected = "a token that is not the input token";
                return Err(refuse("output_tokens.address", expected, address));
            }
            let mut before = tokens.iter().take(index);
            if before.any(|before| before.address.address() == address) {
                return Err(refuse("output_tokens.address", "each once", address));
            }
        }
        Ok(())
    }

    pub(super) fn output_tokens(&self) -> Vec<OutputToken> {
        let tokens = self.output_tokens.iter().flatten();
        tokens
            .map(|token| OutputToken {
                address: token.address.address(),
                symbol: token.symbol.to_string(),
                source: token.source.to_string(),
            })
            .collect()
    }

    pub(super) fn shapes(&self) -> Vec<Shape> {
        self.shapes
            .iter()
            .map(|shape| Shape {
                model: shape.model.clone(),
                selector: shape.selector.0,
                signature: shape.signature.clone(),
            })
            .collect()
    }
}

fn refuse(member: &'static str, expected: impl ToString, observed: impl ToString) -> Refusal {
    Refusal::new(
        Rule::PolicyUnenforceable,
        format!("the policy's {member} is not one that this fence enforces"),
        expected,
        observed,
    )
}
