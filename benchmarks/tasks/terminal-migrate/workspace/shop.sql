CREATE TABLE customers (id INTEGER, name TEXT, email TEXT, joined TEXT);
CREATE TABLE orders (id INTEGER, customer INTEGER, cents TEXT, placed TEXT, state TEXT);
INSERT INTO customers VALUES
 (1, 'Ana Ruiz', 'ana@example.org', '2024-01-05'), (2, 'Bo Ek', 'BO@example.org', '2024-02-11'),
 (3, 'Bo Ek', 'bo@example.org ', '2023-12-01'), (4, 'Chi Nguyễn', 'chi@example.org', '2024-03-09'),
 (5, 'Ana R.', 'ANA@EXAMPLE.ORG', '2024-05-01'), (7, 'Dee', NULL, '2024-06-01'), (8, 'Eli', '', '2024-07-01');
INSERT INTO orders VALUES
 (10, 1, '12.50', '2024-02-01', 'paid'), (11, 5, '7', '2024-05-02', 'paid'), (12, 3, '1,099.00', '2024-01-01', 'PAID'),
 (13, 2, '0.99', '2024-02-12', 'cancelled'), (14, 6, '5.00', '2024-02-13', 'paid'), (15, 4, '', '2024-03-10', 'open'),
 (16, 7, '3.10', '2024-06-02', 'open'), (16, 7, '3.10', '2024-06-02', 'open'), (17, 8, '20.05', '2024-07-02', 'Paid');
