//! The check engine: a table of named, pure judgements over decoded facts, and the one report type.

use std::borrow::Cow;

/// One row of a rail's table: a named judgement over the facts of a plan.
///
/// The tables are static. The names are part of the contract: they are the `assertions` of an
/// envelope and the `check` of a refusal. Rows cannot be compared, because two pointers to one
/// function may differ.
#[derive(Debug, Clone)]
pub struct Check<F> {
    /// The assertion's name, snake case.
    pub name: &'static str,
    /// The fact that a passed check establishes, in one clause.
    pub establishes: &'static str,
    /// The judgement.
    pub judge: fn(&F) -> Verdict,
}

/// The result of a check: the observation that it passed on, a reason why it had nothing to judge,
/// or the violation.
pub type Verdict = Result<Observed, Violation>;

/// The observation of a check that is not violated: a short text for people.
///
/// # Example
/// ```
/// use calldata_checks::{Observed, Verdict, Violation};
///
/// /// Whether a price is near enough to another one, where there is one.
/// fn near(price: u64, other: Option<u64>) -> Verdict {
///     match other {
///         None => Ok(Observed::nothing_to_judge("no other price".to_owned())),
///         Some(other) if price.abs_diff(other) <= 1 => Ok(Observed::from(other.to_string())),
///         Some(other) => Err(Violation::new("the price is far off", other, price)),
///     }
/// }
/// assert!(near(100, Some(99)).is_ok_and(|observed| observed.is_established()));
/// assert!(near(100, None).is_ok_and(|observed| !observed.is_established()));
/// assert_eq!(near(100, Some(90)).unwrap_err().expected, "90");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    text: Cow<'static, str>,
    standing: Standing,
}

/// The basis of a check's observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The bytes, the request and the review alone.
    Established,
    /// Also readings of the outside world, which this text names.
    ByReadings(&'static str),
    /// The check had nothing to judge.
    Open,
}

impl Observed {
    /// Creates a fixed observation.
    #[must_use]
    pub const fn fixed(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            standing: Standing::Established,
        }
    }

    /// Marks an observation that holds only if some readings are true: `readings` names them. It
    /// establishes something for whoever made the readings, and nothing for a reader of a
    /// stranger's plan ([`CheckReport::without_readings`]).
    #[must_use]
    pub const fn by_readings(mut self, readings: &'static str) -> Self {
        self.standing = Standing::ByReadings(readings);
        self
    }

    /// Creates the observation of a check that had nothing to judge, with the reason. Such a check
    /// establishes nothing and is no assertion of the plan.
    #[must_use]
    pub fn nothing_to_judge(why: String) -> Self {
        Self {
            text: Cow::Owned(why),
            standing: Standing::Open,
        }
    }

    /// Returns whether the check holds, by readings or without. `false` when it had nothing to
    /// judge.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        !matches!(self.standing, Standing::Open)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<String> for Observed {
    fn from(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            standing: Standing::Established,
        }
    }
}

/// The way in which a check fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The fault, in one clause.
    pub message: Cow<'static, str>,
    /// The value that the check requires.
    pub expected: String,
    /// The value of the plan.
    pub observed: String,
}

impl Violation {
    /// Creates a violation with the expected and the observed value.
    #[must_use]
    pub fn new(
        message: impl Into<Cow<'static, str>>,
        expected: impl ToString,
        observed: impl ToString,
    ) -> Self {
        Self {
            message: message.into(),
            expected: expected.to_string(),
            observed: observed.to_string(),
        }
    }
}

/// The first check that does not hold. A constructor's refusal carries its name.
///
/// # Example
/// ```
/// use calldata_checks::{Failure, Violation};
///
/// let failure = Failure::new("agg_receiver_bound", Violation::new("somebody else is paid", "0xa1", "0xb2"));
/// assert_eq!(failure.to_string(), "agg_receiver_bound: somebody else is paid: expected 0xa1, observed 0xb2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{check}: {}: expected {}, observed {}", violation.message, violation.expected, violation.observed)]
pub struct Failure {
    /// The name of the first check that does not hold.
    pub check: &'static str,
    /// The violation.
    pub violation: Violation,
}

impl Failure {
    /// Creates a decoder's failure, with the name of the check that the bytes belong to.
    #[must_use]
    pub const fn new(check: &'static str, violation: Violation) -> Self {
        Self { check, violation }
    }
}

/// One check of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The check's name.
    pub name: &'static str,
    /// The fact that it establishes where it holds.
    pub establishes: &'static str,
    /// Its observation.
    pub observed: Observed,
    /// The check's place in its table.
    place: usize,
}

/// Proof that some facts violate no check of one rail's table. Only [`judge`] makes one, only of
/// the facts of this crate's rails, and a plan cannot be sealed without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    rail: Rail,
    assertions: Vec<Assertion>,
    not_established: Vec<Assertion>,
}

impl CheckReport {
    /// Returns the rail of the table that was run.
    #[must_use]
    pub const fn rail(&self) -> Rail {
        self.rail
    }

    /// Returns the checks of the table that hold, in its order.
    #[must_use]
    pub fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    /// Returns the checks of the table that had nothing to judge, in its order. They establish
    /// nothing; `observed` gives the reason.
    #[must_use]
    pub fn not_established(&self) -> &[Assertion] {
        &self.not_established
    }

    /// Returns the report for somebody who did not make the readings, but got them with the plan: a
    /// forger chooses them so that every check holds. The checks that hold only by readings are
    /// then in [`Self::not_established`], except for those named in `own`, whose readings the
    /// reader made.
    ///
    /// # Example
    /// [`BridgeFacts`](crate::bridge::BridgeFacts) has the facts of this report.
    /// ```
    /// # use alloy_primitives::{U256, address};
    /// # use calldata_checks::bridge::{
    /// #     AccountKind, Asked, BridgeFacts, Context, TransferSpeed, account::{AccountCode, DestinationControl},
    /// #     fees::RouteFees,
    /// # };
    /// # use calldata_checks::{Commitment, DigestStanding, UtcSeconds, fees::BridgeCaps, judge};
    /// # let asked = Asked {
    /// #     account: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"), account_kind: AccountKind::Eoa,
    /// #     account_chain_id: 8453, source_chain_id: 8453, destination_chain_id: 42161,
    /// #     token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), amount: U256::from(1_234_567_890),
    /// #     speed: TransferSpeed::Standard, max_fee: None, min_amount_out: None, forward: false,
    /// # };
    /// # let fees = RouteFees {
    /// #     fast_bps: None, standard_bps: "0".parse()?, forward_fee: None, chain_min_fee: None,
    /// # };
    /// # let context = Context {
    /// #     asked, fees, fast_allowance: None, caps: BridgeCaps::DEFAULT, allow_unread_accounts: false, chain_id: 8453,
    /// #     control: DestinationControl::Eoa { source_code: Some(AccountCode::Empty) },
    /// #     commitment: Commitment {
    /// #         valid_until: UtcSeconds::from_unix(1_800_000_300), now: UtcSeconds::from_unix(1_800_000_000),
    /// #         digest: DigestStanding::Sealing,
    /// #     },
    /// # };
    /// # let burn = asked.burn(asked.max_fee_from(&fees)?).map_err(|refused| refused.message)?;
    /// # let facts = BridgeFacts::decode(context, &burn.steps())?;
    /// // Who read that the account has no code?
    /// let report = judge(&facts)?;
    /// assert!(report.not_established().is_empty());
    /// let report = report.without_readings(&[]);
    /// assert_eq!(report.not_established()[0].name, "bridge_recipient_controlled_on_destination");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_readings(mut self, own: &[&str]) -> Self {
        let mut kept = Vec::with_capacity(self.assertions.len());
        for mut assertion in self.assertions {
            match assertion.observed.standing {
                Standing::ByReadings(readings) if !own.contains(&assertion.name) => {
                    let text = &assertion.observed.text;
                    assertion.observed = Observed::nothing_to_judge(format!(
                        "only by {readings}, as the plan states: {text}"
                    ));
                    self.not_established.push(assertion);
                }
                _ => kept.push(assertion),
            }
        }
        self.not_established.sort_by_key(|open| open.place);
        Self {
            assertions: kept,
            ..self
        }
    }
}

pub(crate) mod sealed {
    /// Implemented for the facts of this crate's rails.
    #[allow(unreachable_pub, reason = "a public trait has it as a bound")]
    pub trait Sealed {}
}

/// Facts that a rail's table judges. Only the facts of this crate's four rails are such facts, so
/// that a [`CheckReport`] always says that a whole table of this crate was run.
pub trait Facts: sealed::Sealed + Sized + 'static {
    /// The rail of the facts.
    const RAIL: Rail;
    /// The rail's table of checks.
    const CHECKS: &'static [Check<Self>];
}

/// Runs a rail's whole table of checks over facts.
///
/// # Errors
/// The first check that does not hold, by name.
///
/// # Example
/// A caller can also list the table, or run it row by row to see every failure. [`BridgeFacts`] has
/// an example of a complete judgement.
/// ```
/// use calldata_checks::{Facts, bridge::BridgeFacts};
///
/// for check in BridgeFacts::CHECKS {
///     println!("{}: {}", check.name, check.establishes);
/// }
/// fn violated<F: Facts>(facts: &F) -> Vec<&'static str> {
///     let failing = F::CHECKS.iter().filter(|check| (check.judge)(facts).is_err());
///     failing.map(|check| check.name).collect()
/// }
/// # let _ = violated::<BridgeFacts>;
/// ```
///
/// [`BridgeFacts`]: crate::bridge::BridgeFacts
pub fn judge<F: Facts>(facts: &F) -> Result<CheckReport, Failure> {
    let mut assertions = Vec::with_capacity(F::CHECKS.len());
    let mut not_established = Vec::new();
    for (place, check) in F::CHECKS.iter().enumerate() {
        let observed =
            (check.judge)(facts).map_err(|violation| Failure::new(check.name, violation))?;
        let list = if observed.is_established() {
            &mut assertions
        } else {
            &mut not_established
        };
        list.push(Assertion {
            name: check.name,
            establishes: check.establishes,
            observed,
            place,
        });
    }
    Ok(CheckReport {
        rail: F::RAIL,
        assertions,
        not_established,
    })
}

/// A kind of plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rail {
    /// A same-chain ERC-20 swap through the reviewed aggregator.
    Swap,
    /// A native-USDC transfer between chains (CCTP V2).
    Bridge,
    /// A prediction-market limit order.
    PmOrder,
    /// A perpetuals limit order.
    PerpOrder,
}

impl Rail {
    /// Every rail.
    pub const ALL: [Self; 4] = [Self::Swap, Self::Bridge, Self::PmOrder, Self::PerpOrder];

    /// The rail's name in an envelope.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swap => "swap",
            Self::Bridge => "bridge",
            Self::PmOrder => "pm_order",
            Self::PerpOrder => "perp_order",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rails_have_their_names() {
        let names = Rail::ALL.map(Rail::as_str);
        assert_eq!(names, ["swap", "bridge", "pm_order", "perp_order"]);
    }
}
