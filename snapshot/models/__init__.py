"""Models as readers of pages: profiles, gateways, prices, billing rules, token counts."""
