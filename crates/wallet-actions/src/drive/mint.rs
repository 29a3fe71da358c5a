//! The destination side of a bridge: the attested message, the mint, and the transfer to the owner.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall;
use chain_reader::Block;

use super::{Driver, Fault, Turn};
use crate::abi::transmitter::{receiveMessageCall, usedNoncesCall};
use crate::intent::{Bridge, Expected, Intent, Status, Step};
use crate::plan::{step, transfer};
use crate::ports::{Attested, Burn};
use crate::{StepKind, message::BurnMessage};

impl Driver {
    /// Asks for the attested message, checks it, and plans the transaction that submits it to the
    /// destination chain.
    pub(super) async fn mint(&self, intent: &Intent) -> Result<Turn, Fault> {
        if let Some(reopened) = self.reopened(intent).await? {
            self.write(reopened).await?;
            return Ok(Turn::Went);
        }
        let pause = self.shared.pace.attestation;
        let (Some(bridge), Some(transaction)) = (intent.bridge, burn_of(intent)) else {
            return Ok(Turn::Waits(pause));
        };
        let burn = Burn {
            source_domain: bridge.source_domain,
            transaction,
        };
        let Some(attested) = self.shared.plans.attestation(burn).await? else {
            return Ok(Turn::Waits(pause));
        };
        let Attested {
            message,
            attestation,
        } = attested;
        let read = match BurnMessage::read(&message) {
            Some(read) if read.is_of(&bridge, intent.wallet) => read,
            _ => {
                tracing::error!(intent = %intent.id, "the attested message does not belong to the burn");
                return Ok(Turn::Waits(pause));
            }
        };
        let arrives = bridge.amount.saturating_sub(read.fee_executed);
        let chain = self.shared.chain_of(bridge.chain_id)?;
        let block = chain.sealed(0).await?.block;
        if self.is_used(&bridge, read.nonce, block).await? {
            let mut found = intent.found_minted()?;
            if let Some(owner) = bridge.forward_to {
                found = found.append(forward(&bridge, owner, arrives))?;
            }
            self.write(found).await?;
            return Ok(Turn::Went);
        }
        let mut mint = mint_step(&bridge, message, attestation);
        mint.expects = Some(Expected {
            token: bridge.minted_token,
            receiver: intent.wallet,
            at_least: bridge.amount.saturating_sub(bridge.max_fee),
        });
        let mut next = intent.append(mint)?;
        if let Some(owner) = bridge.forward_to {
            next = next.append(forward(&bridge, owner, arrives))?;
        }
        self.write(next).await?;
        Ok(Turn::Went)
    }

    /// Whether a step that reverts at the block with this number is a mint that another account has
    /// done. Any account may submit an attested message, and the chain accepts it once.
    pub(super) async fn is_minted(
        &self,
        intent: &Intent,
        step: &Step,
        number: u64,
    ) -> Result<bool, Fault> {
        let (Some(bridge), StepKind::Mint) = (&intent.bridge, step.kind) else {
            return Ok(false);
        };
        let call = receiveMessageCall::abi_decode(&step.input).ok();
        let Some(message) = call.and_then(|call| BurnMessage::read(&call.message)) else {
            return Ok(false);
        };
        let chain = self.shared.chain_of(step.chain_id)?;
        let block = chain.sealed(number).await?.block;
        self.is_used(bridge, message.nonce, block).await
    }

    /// Whether the destination chain has accepted the message at this block.
    async fn is_used(&self, bridge: &Bridge, nonce: B256, block: Block) -> Result<bool, Fault> {
        let chain = self.shared.chain_of(bridge.chain_id)?;
        let input = Bytes::from(usedNoncesCall { nonce }.abi_encode());
        let output = chain.view(bridge.transmitter, &input, block).await?;
        let used = usedNoncesCall::abi_decode_returns(&output).unwrap_or(U256::ZERO);
        Ok(!used.is_zero())
    }
}

/// Plans the transaction that submits a message to the destination chain.
pub(crate) fn mint_step(bridge: &Bridge, message: Bytes, attestation: Bytes) -> Step {
    let call = receiveMessageCall {
        message,
        attestation,
    };
    step(StepKind::Mint, bridge.chain_id, bridge.transmitter, &call)
}

/// Plans the transaction that forwards the minted amount to the owner.
fn forward(bridge: &Bridge, owner: Address, amount: U256) -> Step {
    let mut step = transfer(bridge.chain_id, bridge.minted_token, owner, amount);
    step.expects = Some(Expected {
        token: bridge.minted_token,
        receiver: owner,
        at_least: amount,
    });
    step
}

/// Returns the hash of the burn's transaction.
fn burn_of(intent: &Intent) -> Option<B256> {
    intent.steps.iter().find_map(|step| match step.status {
        Status::Sealed { at, .. } if step.kind == StepKind::Call => Some(at.transaction),
        _ => None,
    })
}
