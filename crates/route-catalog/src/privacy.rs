//! Decides which answers concern the payer's own wallet. Only the payer may get such an answer
//! again.

use crate::{Operation, Parameters};

/// The privacy of an answer. Settled payments are public: whoever reads a payment on the chain can
/// write its header again. So whoever sends that header gets a public answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Everybody gets the same answer for the same price.
    Public,
    /// The answer concerns the payer's own wallet.
    Private,
    /// The answer concerns the payer's own wallet, unless this parameter names another subject.
    PrivateWithout(&'static str),
}

impl Privacy {
    /// Whether the answer to a request with these parameters concerns the payer's own wallet.
    #[must_use]
    pub fn is_private(self, parameters: &Parameters) -> bool {
        match self {
            Self::Public => false,
            Self::Private => true,
            Self::PrivateWithout(name) => parameters.value(name).is_none(),
        }
    }
}

impl Operation {
    /// Returns the privacy of the operation's answers. A new operation does not compile until its
    /// privacy is declared here.
    #[must_use]
    pub const fn privacy(self) -> Privacy {
        match self {
            Self::SubWallet
            | Self::AutoSwap
            | Self::AutoBridge
            | Self::AutoWithdraw
            | Self::AutoDefiInvest
            | Self::AutoDefiWithdraw
            | Self::YieldCopilot
            | Self::CreateYieldWatch
            | Self::CancelYieldWatch
            | Self::ListYieldWatch
            | Self::AuditYieldWatch => Privacy::Private,
            Self::Portfolio
            | Self::IdleCapital
            | Self::HyperliquidAccount
            | Self::HlTransactionHistory
            | Self::YieldFarmingActive => Privacy::PrivateWithout("address"),
            Self::YieldFarmingHistorical => Privacy::PrivateWithout("pool"),
            Self::Swap
            | Self::MarketAlpha
            | Self::Price
            | Self::AllTokens
            | Self::Approve
            | Self::CryptoNews
            | Self::TokenAlpha
            | Self::KolSentiment
            | Self::TrendingAltcoins
            | Self::MegaReport
            | Self::TokenSecurity
            | Self::FundingRates
            | Self::DefiAnalytics
            | Self::FilteredNews
            | Self::TwitterSummary
            | Self::TokenDetails
            | Self::YieldAlpha
            | Self::TradfiData
            | Self::VetToken
            | Self::TokenDeepDive
            | Self::RwaPulse
            | Self::GenerateMeme
            | Self::LlmResearch
            | Self::TxExplainer
            | Self::SupportedTokens
            | Self::HyperliquidMarket
            | Self::YieldMarkets
            | Self::YieldRecommendations => Privacy::Public,
        }
    }

    /// Whether the answer to a request concerns the payer's own wallet. A request that cannot be
    /// read counts as private.
    #[must_use]
    pub fn is_private(self, query: Option<&str>, body: &[u8]) -> bool {
        match self.privacy() {
            Privacy::Public => false,
            Privacy::Private => true,
            privacy => {
                let parameters = self.route().parse(query, body);
                parameters.map_or(true, |parameters| privacy.is_private(&parameters))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_parameter_is_one_of_the_route() {
        for operation in Operation::ALL {
            if let Privacy::PrivateWithout(name) = operation.privacy() {
                let mut parameters = operation.route().query.iter();
                assert!(
                    parameters.any(|parameter| parameter.name == name),
                    "{operation}"
                );
            }
        }
    }

    #[test]
    fn requests_that_name_an_address_are_public() {
        let address = "address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";
        let pool = "pool=7da72d09-56ca-4ec5-a45f-59114353e487";
        for (operation, query, private) in [
            (Operation::SubWallet, None, true),
            (Operation::SubWallet, Some(address), true),
            (Operation::Price, None, false),
            (Operation::Portfolio, None, true),
            (Operation::Portfolio, Some("max_age=60"), true),
            (Operation::Portfolio, Some(address), false),
            (Operation::Portfolio, Some("address=0x12"), true),
            (Operation::YieldFarmingHistorical, Some(pool), false),
            (Operation::YieldFarmingHistorical, Some(address), true),
        ] {
            let observed = operation.is_private(query, b"");
            assert_eq!(observed, private, "{operation} {query:?}");
        }
    }
}
