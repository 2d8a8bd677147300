"""Any checker over labelled rows: accuracy, calibration, speed, plots."""
