//! Approvals: built here, and compared with `GET /api/v6/dex/aggregator/approve-transaction`.
//!
//! The calldata never comes from the aggregator. An aggregator that names another spender or amount
//! is refused, and one that does not answer is listed as unavailable.

use alloy_primitives::{Address, U256};
use calldata_checks::{
    StepKind,
    okx::{NATIVE_COIN, OfferedApproval, judge_approval},
    step,
};

use super::{DATA, Okx, lower};
use crate::{
    error::{Error, RequestError, SourceError, SourceErrorKind},
    json::Json,
    provenance::{Mode, Provenance, SourceStatus, Sourced},
    tokens::Approval,
};

pub(super) const SOURCE: &str = "okx.approve-transaction";
/// The source of the calldata itself: the reviewed set, which needs no network.
const REVIEWED: &str = "reviewed.contracts";

impl Okx {
    /// Calldata that allows the router's spender to take `amount` (in the token's unit; zero
    /// revokes) of `token`.
    ///
    /// # Errors
    ///
    /// [`Error::Request`] for the native coin or the zero address, [`Error::Refused`] when the
    /// aggregator's own approval differs from ours.
    pub async fn approval(&self, token: Address, amount: U256) -> Result<Sourced<Approval>, Error> {
        if token == NATIVE_COIN {
            return Err(RequestError::NativeSource.into());
        }
        if token.is_zero() {
            return Err(RequestError::ZeroAddress { field: "token" }.into());
        }
        let reviewed = &self.config.reviewed;
        let spender = reviewed.spender;
        let local = Provenance {
            source: REVIEWED,
            status: SourceStatus::Ok,
            as_of: None,
            fetched_at: self.now(),
            latency_ms: 0,
            mode: Mode::Live,
            cached: false,
            reference: false,
        };
        let (gas_limit, compared) = match self.theirs(token, amount).await {
            Ok((theirs, provenance)) => {
                let offered = OfferedApproval {
                    spender: theirs.spender,
                    data: &theirs.data,
                };
                judge_approval(&offered, amount, reviewed)?;
                (theirs.gas_limit, provenance)
            }
            // The approval does not depend on the aggregator. The sources say that the comparison
            // was not possible.
            Err(error) => (
                None,
                Provenance::unavailable(&error, self.config.mode, self.now()),
            ),
        };
        let value = Approval {
            to: token,
            data: step::approval(StepKind::Approve, token, spender, amount).data,
            spender,
            amount,
            chain_id: reviewed.chain_id,
            gas_limit,
            needs_reset: self.needs_reset(token, amount),
            reviewed_version: reviewed.version.clone(),
        };
        Ok(Sourced {
            value,
            sources: vec![local, compared],
        })
    }
}

struct Theirs {
    data: Vec<u8>,
    spender: Address,
    gas_limit: Option<u64>,
}

impl Okx {
    async fn theirs(
        &self,
        token: Address,
        amount: U256,
    ) -> Result<(Theirs, Provenance), SourceError> {
        let path = format!(
            "/api/v6/dex/aggregator/approve-transaction?chainIndex={}&tokenContractAddress={}&approveAmount={amount}",
            self.config.reviewed.chain_id,
            lower(token),
        );
        let (data, provenance) = self.ask(SOURCE, &path, None).await?;
        let read = || -> Result<Theirs, SourceErrorKind> {
            let row = Json::of(&data, DATA).only()?;
            Ok(Theirs {
                data: row.member("data")?.bytes()?.to_vec(),
                spender: row.member("dexContractAddress")?.address()?,
                gas_limit: row
                    .find("gasLimit")
                    .and_then(|gas| gas.digits().ok())
                    .and_then(|gas| u64::try_from(gas).ok()),
            })
        };
        let theirs = read().map_err(|kind| self.reject_response(SOURCE, kind))?;
        Ok((theirs, provenance))
    }

    fn needs_reset(&self, token: Address, amount: U256) -> Option<bool> {
        if amount.is_zero() {
            return Some(false);
        }
        self.config
            .reviewed
            .allowance_reset_tokens
            .contains(&token)
            .then_some(true)
    }
}
