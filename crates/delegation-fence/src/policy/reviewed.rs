//! Whether a policy and a fee configuration belong together.

use alloy_primitives::Address;
use calldata_checks::fees::FeePolicy;

use super::Policy;
use crate::{Refusal, Rule, refusal::same};

impl Policy {
    /// Checks that delegated swaps can be sent under this policy with these reviewed fees: the
    /// policy lists the tokens that a swap may end in, the fees review its router on its chain, and
    /// it names their version. A service refuses to start with any other policy.
    ///
    /// # Errors
    /// `policy_without_output_tokens`, `policy_router_unreviewed`, `fence_fee_version`
    pub fn require_reviewed(&self, fees: &FeePolicy) -> Result<(), Refusal> {
        if self.document.output_tokens.is_none() {
            return Err(Refusal::new(
                Rule::PolicyWithoutOutputTokens,
                "the policy does not list the tokens that a swap may end in: no swap lies inside it",
                "output_tokens: chain, address, symbol and source of each token",
                "nothing",
            ));
        }
        let chain = fees.chain(self.chain_id);
        let reviewed = chain.map(|chain| chain.router);
        if reviewed != Some(self.router()) {
            let word = |router: Address| router.to_string();
            return Err(Refusal::new(
                Rule::PolicyRouterUnreviewed,
                format!(
                    "the fee configuration does not review the policy's router on chain {}",
                    self.chain_id
                ),
                reviewed.map_or_else(|| "a chain of the fee configuration".to_owned(), word),
                self.router(),
            ));
        }
        same(
            Rule::FenceFeeVersion,
            "the policy names another version of the fees",
            self.fee_config_version(),
            fees.version.as_str(),
        )
    }
}
