//! News, sentiment and opinion leaders.
