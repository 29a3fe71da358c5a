//! Seals a draft as a plan. A draft cannot be serialised: it becomes an envelope only together with
//! a report of all checks.

use alloy_primitives::{B256, hex};
use calldata_checks::{CheckReport, Commitment, DigestStanding, Rail, UtcSeconds, judge};
use serde::Serialize;

use crate::{
    Judgement, Moment, Policy, Refusal,
    device::DeviceDisplay,
    digest,
    envelope::{
        self, AccountBinding, Body, RailRecord, ReplayDisclosure, SCHEMA_VERSION, Submission,
    },
    exports::Exports,
    policy::OLDEST_READING,
    ports::Simulator,
    rail::{RailPlan, Terms, rail_of},
    simulation::{self, Simulation},
    wire::{Eip55, Time, Word},
};

/// A plan that passed every check of its rail, with its digest. It is read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    text: String,
    digest: B256,
    rail: Rail,
    artifact_id: String,
    valid_until: UtcSeconds,
}

impl Sealed {
    /// Returns the envelope as JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.text
    }

    /// Returns the envelope as JSON text, and takes the plan.
    #[must_use]
    pub fn into_json(self) -> String {
        self.text
    }

    /// `submission.payload_digest`.
    #[must_use]
    pub const fn payload_digest(&self) -> B256 {
        self.digest
    }

    /// The plan's rail.
    #[must_use]
    pub const fn rail(&self) -> Rail {
        self.rail
    }

    /// `artifact_id`.
    #[must_use]
    pub fn artifact_id(&self) -> &str {
        &self.artifact_id
    }

    /// `valid_until`.
    #[must_use]
    pub const fn valid_until(&self) -> UtcSeconds {
        self.valid_until
    }
}

/// A payload that passes every check.
#[derive(Debug)]
pub(crate) struct Judged<'a, R: RailPlan> {
    request: &'a R::Request,
    payload: R::Payload,
    policy: &'a Policy,
    moment: &'a Moment,
    valid_until: UtcSeconds,
    report: CheckReport,
    terms: Terms<R::Fees>,
    judgements: Vec<Judgement>,
    simulation: Option<Simulation>,
}

impl<'a, R: RailPlan> Judged<'a, R> {
    /// Runs every check of the rail on a payload's own bytes.
    ///
    /// # Errors
    /// The first check that does not hold.
    pub(crate) fn judge(
        request: &'a R::Request,
        payload: R::Payload,
        policy: &'a Policy,
        moment: &'a Moment,
    ) -> Result<Self, Refusal> {
        let life = moment.now().saturating_add(R::life(policy).get());
        let valid_until = R::latest(&payload, policy).map_or(life, |latest| latest.min(life));
        judge_age(R::read_at(&payload), moment.now())?;
        let commitment = Commitment {
            valid_until,
            now: moment.now(),
            digest: DigestStanding::Sealing,
        };
        let facts = R::facts(request, &payload, policy, commitment)?;
        let report = judge(&facts)?;
        let terms = R::terms(request, &payload, policy, &facts)?;
        Ok(Self {
            request,
            payload,
            policy,
            moment,
            valid_until,
            report,
            terms,
            judgements: Vec::new(),
            simulation: None,
        })
    }

    /// States what the service judged beyond the checks.
    pub(crate) fn stating(mut self, judgement: Judgement) -> Self {
        self.judgements.push(judgement);
        self
    }

    /// Simulates the steps, as the policy says.
    ///
    /// # Errors
    /// `simulation_as_planned`, `simulation_unavailable`
    pub(crate) async fn simulate<S: Simulator + ?Sized>(
        mut self,
        simulator: &S,
    ) -> Result<Self, Refusal> {
        if let Some(evm) = R::evm(self.request, &self.payload) {
            let (mode, now) = (self.policy.simulation, self.moment.now());
            self.simulation = simulation::run(simulator, mode, now, evm).await?;
        }
        Ok(self)
    }

    /// Returns the envelope with its digest.
    ///
    /// # Errors
    /// No payload of this crate causes an error; a member that JSON cannot hold would be
    /// `plan_malformed`.
    pub(crate) fn seal(self) -> Result<Sealed, Refusal> {
        let (id, _) = self.moment.entropy.split_at(16);
        let artifact_id = format!("{}-{}", rail_of::<R>().as_str(), hex::encode(id));
        let mut body = body::<R>(
            self.request,
            self.payload,
            &self.report,
            self.terms,
            Labels {
                artifact_id,
                valid_until: self.valid_until,
                created_millis: self.moment.now_millis,
                judgements: self.judgements,
                simulation: self.simulation,
            },
        )?;
        let written = body.write::<R>().ok_or_else(unwritable)?;
        Ok(Sealed {
            text: written.sealed().ok_or_else(unwritable)?,
            digest: written.digest,
            rail: rail_of::<R>(),
            artifact_id: body.artifact_id,
            valid_until: self.valid_until,
        })
    }
}

fn judge_age(read_at: UtcSeconds, now: UtcSeconds) -> Result<(), Refusal> {
    if now <= read_at.saturating_add(OLDEST_READING)
        && read_at <= now.saturating_add(OLDEST_READING)
    {
        return Ok(());
    }
    Err(
        Refusal::new(Refusal::QUOTE_STALE, "the reading is not of now").comparing(
            format_args!("at most {OLDEST_READING} seconds from {now}"),
            read_at,
        ),
    )
}

/// The members of an envelope that the others do not determine.
pub(crate) struct Labels {
    pub(crate) artifact_id: String,
    pub(crate) valid_until: UtcSeconds,
    pub(crate) created_millis: u64,
    pub(crate) judgements: Vec<Judgement>,
    pub(crate) simulation: Option<Simulation>,
}

/// Assembles an envelope. Both building and verifying use this function.
pub(crate) fn body<'a, R: RailPlan>(
    request: &R::Request,
    payload: R::Payload,
    report: &'a CheckReport,
    terms: Terms<R::Fees>,
    labels: Labels,
) -> Result<Body<'a, R::Payload, R::Fees>, Refusal> {
    let Terms {
        account,
        kind,
        chain_id,
        roles,
        fees,
        disclosure,
        adapter_owned_fields,
        required_capabilities,
        onchain_replay_boundary,
        typed_data,
    } = terms;
    let device_display = DeviceDisplay::of(kind, R::evm(request, &payload), typed_data);
    let evm = R::evm(request, &payload);
    let approves = evm.is_some();
    let exports = evm.and_then(|evm| Exports::of(evm, &labels.artifact_id, labels.created_millis));
    let as_planned = labels
        .simulation
        .as_ref()
        .is_some_and(Simulation::is_as_planned);
    Ok(Body {
        account_binding: AccountBinding {
            address: Eip55::of(account),
            chain_id,
            kind,
            roles: roles.iter().map(|role| (*role).into()).collect(),
        },
        artifact_id: labels.artifact_id,
        assertions: envelope::assertions(report),
        device_display,
        disclosure: disclosure
            .map(|disclosure| disclosure.examined(as_planned).judged(&labels.judgements)),
        exports,
        fee_attribution: fees,
        intent_digest: Word(intent_digest::<R>(request).ok_or_else(unwritable)?),
        judgements: labels.judgements,
        not_established: envelope::not_established(report),
        payload,
        rail: RailRecord(rail_of::<R>()),
        replay_disclosure: ReplayDisclosure::with_boundary(onchain_replay_boundary, approves),
        required_capabilities,
        schema_version: SCHEMA_VERSION.into(),
        simulation: labels.simulation,
        submission: Submission {
            adapter_owned_fields: adapter_owned_fields
                .iter()
                .map(|field| (*field).into())
                .collect(),
            payload_digest: None,
        },
        valid_until: Time(labels.valid_until),
    })
}

/// Computes keccak-256 over the RFC 8785 form of `{"arguments": <normalised>, "rail": <name>}`.
pub(crate) fn intent_digest<R: RailPlan>(request: &R::Request) -> Option<B256> {
    #[derive(Serialize)]
    struct Intent<'a, A> {
        arguments: &'a A,
        rail: &'static str,
    }
    let intent = Intent {
        arguments: request,
        rail: rail_of::<R>().as_str(),
    };
    Some(digest::keccak(&serde_json::to_vec(&intent).ok()?))
}

pub(crate) fn unwritable() -> Refusal {
    Refusal::new(
        Refusal::PLAN_MALFORMED,
        "the plan cannot be written as JSON",
    )
}
