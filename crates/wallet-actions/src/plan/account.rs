//! Reads what one account holds on one chain, through the chain's nodes. It needs neither key nor
//! custody.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use chain_reader::ChainReader;

use super::Held;
use crate::Refused;
use crate::abi::token;

/// An account on a chain.
#[derive(Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) chain: &'a ChainReader,
    pub(crate) address: Address,
}

impl Account<'_> {
    pub(crate) const fn chain_id(&self) -> u64 {
        self.chain.chain_id()
    }

    /// Reads the account's balance of a token.
    pub(crate) async fn held(&self, token: Address) -> Result<Held, Refused> {
        let chain = self.chain;
        let block = chain.sealed(0).await?.block;
        if chain.code(token, block).await?.is_empty() {
            let chain_id = self.chain_id();
            return Err(Refused::unsupported(
                "token_unsupported",
                format!("there is no contract at {token} on chain {chain_id}"),
            ));
        }
        Ok(Held {
            balance: chain.token_balance(token, self.address, block).await?,
            decimals: chain.decimals(token, block).await?,
        })
    }

    /// Reads a contract's current answer to the account. `None` when the call reverts or its answer
    /// has another form.
    pub(crate) async fn read<C: SolCall>(
        &self,
        to: Address,
        call: &C,
    ) -> Result<Option<C::Return>, Refused> {
        let block = self.chain.sealed(0).await?.block;
        let input = Bytes::from(call.abi_encode());
        let asked = self.chain.call_from(self.address, to, &input, block);
        let output = asked.await?;
        Ok(output.and_then(|output| C::abi_decode_returns(&output).ok()))
    }

    /// Reads how many of the account's tokens `spender` may take.
    pub(crate) async fn allowed(&self, token: Address, spender: Address) -> Result<U256, Refused> {
        let block = self.chain.sealed(0).await?.block;
        let allowance = self.chain.allowance(token, self.address, spender, block);
        Ok(allowance.await?)
    }

    /// Reads a token's symbol. Returns an empty text when the token has none.
    pub(crate) async fn symbol(&self, token: Address) -> Result<String, Refused> {
        let symbol = self.read(token, &token::symbolCall {}).await?;
        Ok(symbol.unwrap_or_default())
    }
}
