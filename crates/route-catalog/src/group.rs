//! The families into which documents sort the operations.

use crate::Operation;

/// A family of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// Tokens and prices of the home chain, swaps and approvals.
    Tokens,
    /// News, social media and reports.
    News,
    /// Contract security.
    Security,
    /// Perpetuals and their venues.
    Derivatives,
    /// Protocols, yields and positions.
    Defi,
    /// Macro data and real-world assets.
    Macro,
    /// Models.
    Ai,
    /// Transactions and balances.
    Chains,
    /// Actions for the payer's own wallet.
    Wallet,
}

impl Group {
    /// Every group, in the order of documents.
    pub const ALL: [Self; 9] = [
        Self::Tokens,
        Self::News,
        Self::Security,
        Self::Derivatives,
        Self::Defi,
        Self::Macro,
        Self::Ai,
        Self::Chains,
        Self::Wallet,
    ];

    /// Returns the heading of the group.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tokens => "Tokens and prices",
            Self::News => "News and social media",
            Self::Security => "Token security",
            Self::Derivatives => "Derivatives",
            Self::Defi => "DeFi and yields",
            Self::Macro => "Macro and real-world assets",
            Self::Ai => "AI",
            Self::Chains => "Transactions and portfolios",
            Self::Wallet => "Wallet actions",
        }
    }

    /// Returns the name of the group in addresses and tags.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::News => "news",
            Self::Security => "security",
            Self::Derivatives => "derivatives",
            Self::Defi => "defi",
            Self::Macro => "macro",
            Self::Ai => "ai",
            Self::Chains => "chains",
            Self::Wallet => "wallet",
        }
    }

    /// Returns the operations of the group, in the order of the table.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        let all = Operation::ALL.into_iter();
        all.filter(move |operation| operation.group() == self)
    }
}

impl Operation {
    /// Returns the family in which documents show the operation.
    #[must_use]
    pub const fn group(self) -> Group {
        match self {
            Self::Swap
            | Self::MarketAlpha
            | Self::Price
            | Self::AllTokens
            | Self::Approve
            | Self::TokenDetails
            | Self::TokenDeepDive
            | Self::SupportedTokens => Group::Tokens,
            Self::CryptoNews
            | Self::TokenAlpha
            | Self::KolSentiment
            | Self::TrendingAltcoins
            | Self::MegaReport
            | Self::FilteredNews
            | Self::TwitterSummary => Group::News,
            Self::TokenSecurity | Self::VetToken => Group::Security,
            Self::FundingRates
            | Self::HlTransactionHistory
            | Self::HyperliquidAccount
            | Self::HyperliquidMarket => Group::Derivatives,
            Self::DefiAnalytics
            | Self::YieldAlpha
            | Self::IdleCapital
            | Self::YieldFarmingActive
            | Self::YieldFarmingHistorical
            | Self::YieldMarkets
            | Self::YieldRecommendations => Group::Defi,
            Self::TradfiData | Self::RwaPulse => Group::Macro,
            Self::GenerateMeme | Self::LlmResearch => Group::Ai,
            Self::TxExplainer | Self::Portfolio => Group::Chains,
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
            | Self::AuditYieldWatch => Group::Wallet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_one_group() {
        let shown: usize = Group::ALL
            .iter()
            .map(|group| group.operations().count())
            .sum();
        assert_eq!(shown, Operation::ALL.len());
        assert!(
            Group::ALL
                .iter()
                .all(|group| group.operations().count() > 0)
        );
    }
}
